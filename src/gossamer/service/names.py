"""The words that clients and administrators type. Light, so that help is quick."""

from typing import Final

from gossamer.objects.enumerations import HOST_OPERATIONS, Operation

# The operations for which no object was ever defined, and those of hosts among themselves.
_UNUSED: Final = {Operation.RESOURCE_FETCH, Operation.RESOURCE_DELETE, *HOST_OPERATIONS}

OTHER_NAMES: Final = {
    "F_RECALC": Operation.FIELD_RECALCULATE,
    "ATTRIBUTE_SET": Operation.ATTR_SET,
    "ATTRIBUTE_UPDATE": Operation.ATTR_UPDATE,
    "ATTRIBUTE_DELETE": Operation.ATTR_DELETE,
    "ATTRIBUTE_FETCH": Operation.ATTR_FETCH,
}
"""What a command is called beside the name of its operation."""

CLIENT_COMMANDS: Final = (
    *(operation.name for operation in Operation if operation not in _UNUSED),
    *OTHER_NAMES,
)
ADMIN_COMMANDS: Final = ("STAT", "SET", "GET", "STOP", "SUSPEND", "SYSTEM", "SQL_CUSTOM")
