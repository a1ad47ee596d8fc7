"""`gossamer completion`: a script that lets a shell complete commands and flags.

The scripts are made from the parsers themselves, so they cannot fall behind them. They cover the
programs of the crawling service, too.
"""

from argparse import Namespace

from gossamer.cli.arguments import Commands, add_command
from gossamer.cli.outline import Command, Flag, outline, program

# Names may have blanks in them: bash is told that they are names, and escapes them.
_BASH_FILES = """_gossamer_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$current"))
}"""

# A command is what stands at the beginning; a flag or a value of that name further on is none.
_FISH_HEAD = """# fish completion for gossamer
complete -c gossamer -f
function __gossamer_inside
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end
function __gossamer_follows
    test (count (commandline -opc)) -eq (math 1 + (count $argv))
    and begin; test (count $argv) -eq 0; or __gossamer_inside $argv; end
end"""


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "completion",
        run,
        summary="print a completion script for a shell",
        examples="""
        source <(gossamer completion bash)
        gossamer completion zsh > ~/.zfunc/_gossamer
        gossamer completion fish > ~/.config/fish/conf.d/gossamer.fish
        """,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def run(arguments: Namespace) -> int:
    """Print the script."""
    from gossamer.cli.main import parser
    from gossamer.cli.service_programs import parsers

    scripts = {"bash": bash, "zsh": zsh, "fish": fish}
    programs = tuple(program(each) for each in parsers())
    print(scripts[arguments.shell](outline(parser()), programs), end="")
    return 0


def bash(commands: tuple[Command, ...], programs: tuple[Command, ...]) -> str:
    """Return the script for bash."""
    names = " ".join(command.name for command in _members("", commands))
    groups = "|".join(sorted(_groups(commands))) or "-"
    cases = "\n".join(f'    "{each.name}") words="{_words(each)}" ;;' for each in commands)
    values = "\n".join(_bash_value(command, flag) for command in commands for flag in command.flags)
    return f"""# bash completion for gossamer
{_BASH_FILES}
_gossamer() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  local command="${{COMP_WORDS[1]}}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names} --help" -- "$current"))
    return
  fi
  case "$command" in
    {groups}) [ "$COMP_CWORD" -eq 2 ] || command="$command ${{COMP_WORDS[2]}}" ;;
  esac
  case "$command $previous" in
{values}
  esac
  case "$command" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _gossamer gossamer
{"".join(_bash_program(each) for each in programs)}"""


def _bash_program(command: Command) -> str:
    function = f"_gossamer_{command.name.replace('-', '_')}"
    values = "\n".join(_bash_value(command, flag) for flag in command.flags)
    return f"""{function}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  COMPREPLY=()
  case "{command.name} $previous" in
{values}
  esac
  COMPREPLY=($(compgen -W "{_words(command)}" -- "$current"))
}}
complete -o default -F {function} {command.name}
"""


def _bash_value(command: Command, flag: Flag) -> str:
    pattern = f'    "{command.name} {flag.name}")'
    if flag.takes in {"file", "directory"}:
        option = "-d" if flag.takes == "directory" else "-f"
        return f"{pattern} _gossamer_files {option}; return ;;"
    if flag.takes == "value":
        return f"{pattern} return ;;"
    if flag.takes:
        return f'{pattern} COMPREPLY=($(compgen -W "{flag.takes}" -- "$current")); return ;;'
    return f"{pattern} ;;"


def zsh(commands: tuple[Command, ...], programs: tuple[Command, ...]) -> str:
    """Return the script for zsh."""
    names = " ".join(["gossamer", *(each.name for each in programs)])
    cases = "\n".join(f"    {each.name}) {_zsh_arguments(each)}; return ;;" for each in programs)
    return f"""#compdef {names}
_gossamer() {{
  local -a commands
  case "$service" in
{cases}
  esac
{_zsh_choice("", commands)}
}}
if [ "$funcstack[1]" = "_gossamer" ]; then _gossamer "$@"; else compdef _gossamer {names}; fi
"""


def _zsh_choice(group: str, commands: tuple[Command, ...]) -> str:
    """Return the part that completes one of several commands, then what may follow it."""
    members = _members(group, commands)
    listed = "\n".join(f"    '{_last(c)}:{_zsh_text(c.help)}'" for c in members)
    cases = "\n".join(_zsh_case(command, commands) for command in members)
    return f"""  commands=(
{listed}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  words=("${{words[@]:1}}")
  (( CURRENT-- ))
  case "$words[1]" in
{cases}
  esac"""


def _zsh_case(command: Command, commands: tuple[Command, ...]) -> str:
    if command.name in _groups(commands):
        return f"    {_last(command)})\n{_zsh_choice(command.name, commands)} ;;"
    return f"    {_last(command)}) {_zsh_arguments(command)} ;; # {command.name}"


def _zsh_arguments(command: Command) -> str:
    specs = [f"'*{flag.name}[{_zsh_text(flag.help)}]{_zsh_value(flag)}'" for flag in command.flags]
    rest = f"({' '.join(command.words)})" if command.words else "_default"
    specs.append(f"'*:argument:{rest}'")
    return f"_arguments {' '.join(specs)}"


def _zsh_value(flag: Flag) -> str:
    actions = {
        "": "",
        "value": ":value: ",
        "file": ":file:_files",
        "directory": ":folder:_files -/",
    }
    return actions.get(flag.takes, f":value:({flag.takes})")


def _zsh_text(text: str) -> str:
    kept = text.replace("'", "").replace("[", "(").replace("]", ")")
    return kept.replace(":", ";").replace("`", "")


def fish(commands: tuple[Command, ...], programs: tuple[Command, ...]) -> str:
    """Return the script for fish."""
    lines = [_FISH_HEAD]
    for each in programs:
        lines.append(f"complete -c {each.name} -f")
        lines += [f"complete -c {each.name} {_fish_flag(flag)}" for flag in each.flags]
        if each.words:
            lines.append(f"complete -c {each.name} -a '{' '.join(each.words)}'")
    for command in commands:
        group = command.name.rpartition(" ")[0]
        lines.append(
            f"complete -c gossamer -n '__gossamer_follows {group}' -a {_last(command)}"
            f" -d '{_fish_text(command.help)}'"
        )
        inside = f"-n '__gossamer_inside {command.name}'"
        lines += [f"complete -c gossamer {inside} {_fish_flag(flag)}" for flag in command.flags]
        if command.words and command.name not in _groups(commands):
            lines.append(f"complete -c gossamer {inside} -a '{' '.join(command.words)}'")
    return "\n".join(lines) + "\n"


def _fish_flag(flag: Flag) -> str:
    name = flag.name.lstrip("-")
    # -o is for names of several letters behind a single dash.
    kind = "-l" if flag.name.startswith("--") else "-s" if len(name) == 1 else "-o"
    values = {
        "": "",
        "value": " -x",
        "file": " -r -F",
        "directory": " -x -a '(__fish_complete_directories)'",
    }
    value = values.get(flag.takes, f" -x -a '{flag.takes}'")
    return f"{kind} {name}{value} -d '{_fish_text(flag.help)}'"


def _fish_text(text: str) -> str:
    return text.replace("\\", "").replace("'", "")


def _groups(commands: tuple[Command, ...]) -> frozenset[str]:
    """Return the names of the commands that have commands of their own."""
    return frozenset(command.name.rpartition(" ")[0] for command in commands) - {""}


def _members(group: str, commands: tuple[Command, ...]) -> list[Command]:
    return [command for command in commands if command.name.rpartition(" ")[0] == group]


def _last(command: Command) -> str:
    return command.name.rpartition(" ")[2]


def _words(command: Command) -> str:
    """Return what may be written after a command: its flags, and words to choose from."""
    return " ".join([*(flag.name for flag in command.flags), *command.words])
