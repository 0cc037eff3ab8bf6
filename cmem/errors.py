"""What a command may end with: one class per exit code of the interface contract."""


class CmemError(Exception):
    """An expected failure: one line for the user, saying what to do next. Exit code 1."""

    exit_code = 1


class UsageError(CmemError):
    """The command line cannot be understood. Exit code 2."""

    exit_code = 2


class BusyError(CmemError):
    """Another run holds what this one needs; the same command works later. Exit code 75."""

    exit_code = 75


class ConfigError(CmemError):
    """The configuration or the place of the data forbids the run. Exit code 78."""

    exit_code = 78
