"""Templates applied to one page: each rule asked, the best template chosen, its output written."""

from collections.abc import Callable

from msgspec import Struct
from turbohtml import HTMLParseError

from gossamer.objects.error_mask import ErrorBit
from gossamer.parse.article import MAX_BYTES
from gossamer.parse.scraper_expression import QueryError, RegularExpressionError
from gossamer.parse.scraper_output import write_output
from gossamer.parse.scraper_records import Job, Problems, Tags
from gossamer.parse.scraper_template import Rule, Template, Templates
from gossamer.parse.scraper_values import Surroundings, value_of
from gossamer.parse.scraper_xpath import LateError, Query, shape_of, tree_of


class TemplateResult(Struct, frozen=True):
    """What the best template found."""

    content: Tags = {}
    output: str = ""


def apply_templates(
    job: Job,
    templates: Templates,
    around: Surroundings,
    measure: Callable[[Tags], float] | None,
    problems: Problems,
) -> TemplateResult:
    """Return the content of the template that `select` (or a metric) prefers."""
    if not templates.templates:
        return TemplateResult()
    try:
        tree = tree_of(job.body[:MAX_BYTES], job.charset)
    except (HTMLParseError, ValueError, MemoryError, RecursionError) as error:
        problems.add(ErrorBit.SCRAPER, f"the page cannot be parsed as HTML: {error}")
        return TemplateResult()
    # Half of the time at most for one query; the clock is looked at between queries.
    shape = shape_of(tree, min(len(job.body), MAX_BYTES))
    query = Query(tree, shape, job.deadline_seconds / 2, around.is_late)
    reader = _Reader(query, around, problems)
    results: list[tuple[Template, Tags]] = []
    for template in templates.templates:
        tags = reader.read(template)
        if tags:
            results.append((template, tags))
        elif template.mandatory:
            problems.add(ErrorBit.MANDATORY_TEMPLATE, "a mandatory template found nothing")
    if not results:
        return TemplateResult()
    template, tags = max(results, key=lambda each: _merit(each[1], templates.select, measure))
    if "link" not in template.tags:
        tags = tags | {"link": job.url}
    output = ""
    if template.output_format is not None:
        output = write_output(template.output_format, [tags])
        if not output:
            problems.add(ErrorBit.SCRAPER, "output_format: the output is empty or too long")
    return TemplateResult(tags, output)


def _merit(tags: Tags, select: str, measure: Callable[[Tags], float] | None) -> float:
    """Return by what templates compete; of equals, the first is taken, whose priority is higher."""
    if measure is not None:
        return measure(tags)
    if select == "longest":
        return len(tags.get("content_encoded", "")) or sum(map(len, tags.values())) / (1 << 32)
    return len(tags)


class _Reader:
    """Asks a page for the values of tags."""

    def __init__(self, query: Query, around: Surroundings, problems: Problems) -> None:
        self._query = query
        self._around = around
        self._problems = problems

    def read(self, template: Template) -> Tags:
        """Return what a template finds; nothing if a mandatory rule does not."""
        tags: Tags = {}
        for tag, rules in template.tags.items():
            for rule in rules:
                value = self._value(tag, rule)
                if value:
                    tags[tag] = value
                    break
                if rule.mandatory:
                    return {}
        return tags

    def _value(self, tag: str, rule: Rule) -> str:
        bit = ErrorBit.SCRAPER
        try:
            found = self._query.css(rule.css) if rule.css else self._query.xpath(rule.target)
            return value_of(tag, rule, found, self._around)
        except LateError:
            message = "the time for this page is over"
        except RegularExpressionError as error:
            bit, message = ErrorBit.REGULAR_EXPRESSION, str(error)
        except QueryError as error:
            message = str(error)
        except (ValueError, MemoryError, RecursionError) as error:
            message = f"a value cannot be read: {error}"
        self._problems.add(bit, f"tag {tag[:40]}: {message}")
        return ""
