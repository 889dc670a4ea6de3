"""Programs that only read, with the options that leave it so. An option that is not here may write or run something."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from outrider.permissions.programs.git import git_reads
from outrider.permissions.programs.languages import AWKS, awk, jq, sed
from outrider.permissions.programs.options import Check, Options, Reads, names, read_options
from outrider.permissions.programs.versions import tells
from outrider.permissions.shell.model import Program, Word

_HASHES: Final = Options(
    "btwz",
    "",
    names("binary tag text zero"),  # what they check is named in a file
)
_HEAD: Final = Options(
    "qvz", "nc", names("quiet verbose silent zero-terminated lines bytes"), names("lines bytes"), numbers=True
)
_FD: Final = Options(
    "HIuasigFp01q", "dtEeSc",
    names("hidden no-ignore unrestricted absolute-path case-sensitive ignore-case glob fixed-strings full-path print0 "
          "no-ignore-vcs max-depth min-depth exact-depth type extension exclude size changed-within changed-before color max-results quiet"),
    names("max-depth min-depth exact-depth type extension exclude size changed-within changed-before color max-results"),
    operands="pattern",
)  # fmt: skip
"""It shows names alone; with `-l` and `-x` it runs programs."""
_NO_FILES: Final = Options(operands="texts")
_GREP: Final = Options(
    "abcEFGhHiIlLnoPqrsTvVwxyzZ", "ABCdDefm",
    names("extended-regexp fixed-strings basic-regexp perl-regexp regexp file ignore-case no-ignore-case word-regexp line-regexp "
          "null-data no-messages invert-match max-count byte-offset line-number line-buffered with-filename no-filename label "
          "only-matching quiet silent binary-files text directories devices recursive include exclude exclude-from exclude-dir "
          "files-without-match files-with-matches count initial-tab null before-context after-context context color colour"),
    names("regexp file max-count before-context after-context context include exclude exclude-dir exclude-from label binary-files"),
    paths=names("-f --file --exclude-from"), patterns=names("-e -f --regexp --file"), operands="pattern", numbers=True,
    below=names("-r -d --recursive --directories"),
)  # fmt: skip
_VERSION: Final = names("--version --help -V --usage")

_TABLE: Final[Mapping[str, Options]] = {
    "ls": Options(
        "1aABbcCdfFgGhiklmnNopqQrRsStuUvxXZ", "ITw",
        names("all almost-all author escape block-size ignore-backups color directory dired classify file-type format full-time "
              "group-directories-first no-group human-readable si hide indicator-style inode ignore kibibytes numeric-uid-gid literal "
              "hide-control-chars show-control-chars quote-name quoting-style reverse recursive size sort time time-style tabsize width "
              "context zero"),
        names("ignore hide block-size width tabsize"), paths=names("-I -T -w"),  # other systems know no values there
    ),
    "cat": Options("AbeEnstTuv", "", names("show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting")),
    "tac": Options("br", "s", names("before regex separator"), names("separator")),
    "nl": Options("p", "bdfhilnsvw", names("body-numbering section-delimiter no-renumber")),
    "head": _HEAD,
    "tail": Options("qvz", "nc", _HEAD.long, _HEAD.long_valued, numbers=True),
    "wc": Options("clmLw", "", names("bytes chars lines max-line-length words total")),
    "cut": Options("nsz", "bcdf", names("bytes characters delimiter fields complement only-delimited output-delimiter zero-terminated"),
                   names("bytes characters delimiter fields output-delimiter")),
    "paste": Options("sz", "d", names("delimiters serial zero-terminated"), names("delimiters")),
    "column": Options("teLnJ", "scNoHRTlr", names("table separator columns table-columns output-separator json"), names("separator")),
    "fold": Options("bcs", "w", names("bytes spaces width"), names("width")),
    "fmt": Options("cstu", "wpg", names("crown-margin split-only uniform-spacing width"), paths=names("-p -g")),
    "expand": Options("i", "t", names("initial tabs"), names("tabs")),
    "rev": Options(),
    "tr": Options("cCdst", "", names("complement delete squeeze-repeats truncate-set1"), operands="texts"),
    "comm": Options("123z", "", names("check-order nocheck-order output-delimiter total zero-terminated")),
    "join": Options("iz", "12aejotv", names("ignore-case header check-order nocheck-order zero-terminated")),
    "uniq": Options("cdDiuz", "fsw", names("count repeated all-repeated skip-fields group ignore-case skip-chars unique check-chars"),
                    names("skip-fields skip-chars check-chars"), most=1),
    "sort": Options("bcCdfghiMmnrRsuVz", "ktS", names("ignore-leading-blanks dictionary-order ignore-case general-numeric-sort "
                    "ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse sort version-sort check "
                    "key merge stable field-separator unique zero-terminated debug parallel"), names("key field-separator")),
    "grep": _GREP, "egrep": _GREP, "fgrep": _GREP,
    "rg": Options(
        "abcFHhiIlnNopPqsSUvwx0.", "ABCeEfgjmMrtT",
        names("after-context before-context context auto-hybrid-regex binary block-buffered byte-offset case-sensitive color colors "
              "column count count-matches crlf debug encoding engine file files files-with-matches files-without-match fixed-strings "
              "glob glob-case-insensitive heading ignore-case iglob include-zero invert-match json line-number line-regexp max-columns "
              "max-columns-preview max-count max-depth max-filesize multiline multiline-dotall no-heading no-filename no-line-number "
              "no-messages null null-data only-matching passthru path-separator pcre2 pretty quiet regexp replace smart-case sort sortr "
              "stats text threads trim type type-list type-not vimgrep with-filename word-regexp hidden"),
        names("after-context before-context context color colors encoding engine file glob iglob max-columns max-count max-depth "
              "max-filesize path-separator regexp replace sort sortr threads type type-not"),
        paths=names("-f --file"), patterns=names("-e -f --regexp --file --files --type-list"), operands="pattern",
        below=names("*"), hidden=names("-. --hidden -g --glob --iglob"),  # a glob that fits brings a hidden file along
    ),
    "fd": _FD, "fdfind": _FD,
    "stat": Options("fLt", "c", names("dereference file-system format printf terse"), names("format printf")),
    "file": Options("bhiknNprs0", "F", names("brief mime mime-type mime-encoding no-dereference keep-going separator no-pad")),
    "du": Options("0abcdhHkmsSxlP", "Bdt", names("all apparent-size bytes total human-readable max-depth summarize threshold exclude "
                  "one-file-system separate-dirs block-size"), names("max-depth exclude threshold block-size")),
    "df": Options("ahHiklPT", "Btx", names("all human-readable inodes local portability print-type total si")),
    "tree": Options("adfghinpqrstuvACDFJNQSUX", "LPI", names("noreport dirsfirst filelimit gitignore prune charset du si inodes device sort"),
                    names("filelimit charset")),
    "realpath": Options("eLmPqsz", "", names("canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks")),
    "readlink": Options("efmnqsvz", "", names("canonicalize canonicalize-existing canonicalize-missing no-newline")),
    "basename": Options("az", "s", names("multiple suffix zero"), names("suffix"), operands="texts"),
    "dirname": Options("z", "", names("zero"), operands="texts"),
    "diff": Options("abBcdeEiNnpqrstTuwyZ", "CIUWxF", names("normal brief report-identical-files unified context side-by-side "
                    "ignore-case ignore-all-space ignore-blank-lines ignore-space-change ignore-trailing-space minimal recursive text "
                    "color strip-trailing-cr new-file exclude width show-c-function"), names("exclude width"),
                    below=names("*"), follows=True),
    "cmp": Options("bls", "in", names("print-bytes ignore-initial verbose bytes quiet silent")),
    "shasum": Options("bt0", "a", names("algorithm binary text"), names("algorithm")), "base64": Options("di", "w", names("decode ignore-garbage wrap"), names("wrap")),
    "md5sum": _HASHES, "sha1sum": _HASHES, "sha256sum": _HASHES, "sha512sum": _HASHES, "b2sum": _HASHES, "cksum": Options(),
    "hexdump": Options("bcCdovx", "ens"),
    "od": Options("abcdfilosvx", "AjNSt", names("address-radix skip-bytes read-bytes format width output-duplicates"),
                  names("address-radix skip-bytes read-bytes format"), optional="w"),
    "xxd": Options(long=names("a b C e E i p ps postscript plain u autoskip bits include uppercase"), single_dash=True, most=1,
                   long_valued=names("c cols g groupsize l len o offset s seek")),
    "strings": Options("ad", "nt", names("all bytes radix")),
    "pwd": Options("LP", operands="none"),
    "whoami": Options(operands="none"), "id": Options("agGnruzZ", operands="texts"), "groups": _NO_FILES, "arch": Options(operands="none"),
    "uname": Options("asnrvmpio", "", names("all kernel-name nodename kernel-release kernel-version machine operating-system"), operands="none"),
    "hostname": Options("fsiId", operands="none"), "locale": Options("am", operands="none"), "whereis": Options("bms", operands="texts"),
    "nproc": Options("", "", names("all ignore"), operands="none"), "uptime": Options("ps", operands="none"),
    "free": Options("bkmghtlw", operands="none"), "tty": Options("s", operands="none"),
    "which": Options("as", operands="texts"), "type": Options("aftpP", operands="texts"),
    "true": _NO_FILES, "false": _NO_FILES, ":": _NO_FILES,
    "seq": Options("w", "fs", operands="texts"),
    "sleep": _NO_FILES, "cal": Options("13jmy", operands="texts"), "expr": _NO_FILES,
    "exit": _NO_FILES, "break": _NO_FILES, "continue": _NO_FILES, "return": _NO_FILES, "wait": _NO_FILES,
}  # fmt: skip


def _find(arguments: Sequence[Word]) -> Reads | str:
    """`find`: tests and prints only; what it runs by `-exec` is a program of its own."""
    paths: list[Word] = []
    rest = list(arguments)
    while (
        rest
        and not (rest[0].text or rest[0].prefix).startswith(("-", "(", "!"))
        and (rest[0].text is not None or rest[0].prefix)
    ):
        paths.append(rest.pop(0))
    while rest:
        word = rest.pop(0)
        text = word.text
        if text is None:
            return f"{word.source} may be an option"
        if text in {"-exec", "-execdir"}:
            while rest and rest[0].text != ";" and (word.text, rest[0].text) != ("{}", "+"):
                word = rest.pop(0)
                if word.text is None:  # it may be the end of what is run
                    return f"an argument of {text} is not known"
            rest = rest[1:]
        elif text in _FIND_VALUED:
            if not rest:
                return f"{text} lacks a value"
            value = rest.pop(0)
            if not value.is_one:
                return f"{value.source} may be an option"
            if text in {"-newer", "-anewer", "-cnewer", "-samefile"}:
                paths.append(value)
        elif text not in _FIND:
            return f"{text} is not known to only read"
    return Reads(tuple(paths))


_FIND: Final = names(
    "-P -depth -d -mount -xdev -print -print0 -prune -quit -empty -readable -writable -executable -nouser -nogroup -true -false "
    "-not ! ( ) -a -and -o -or , -ls -daystart -noleaf -ignore_readdir_race"
)
_FIND_VALUED: Final = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -atime -ctime -mmin -amin "
    "-cmin -newer -anewer -cnewer -samefile -perm -user -group -uid -gid -inum -links -maxdepth -mindepth -printf -fstype -used"
)


def _date(arguments: Sequence[Word]) -> Reads | str:
    options = Options(
        "Ru",
        "dr",
        names("utc universal date iso-8601 rfc-3339 rfc-email reference"),
        names("date"),
        optional="I",
    )
    reads = read_options(options, arguments)
    if isinstance(reads, str):
        return reads
    other = next((word for word in reads.paths if not (word.text or word.prefix).startswith("+")), None)
    return Reads() if other is None else f"{other.source} may set the clock"


_NO_PATTERN: Final = re.compile(
    r"…|\{\d+\.\.\d+\}|\$[?#$!0-9-]|\$\{?(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|HOSTNAME|RANDOM|SECONDS|LINENO|UID|EUID|PPID|BASH_VERSION)\}?"
    r"|\$\((?:date|pwd|whoami|hostname|uname|nproc|wc|git rev-parse|git branch)\b[^][*?$`()'\"\\]*\)"
)
"""Expansions outside of quotes that stand for no files: what is filled in holds no `*`, and nobody can have put one there."""


def _says(arguments: Sequence[Word]) -> Reads | str:
    """What only prints its arguments: whatever they are, but for names of files that a pattern stands for."""
    for word in arguments:
        if not (
            word.text is not None
            or word.is_one
            or word.is_glob
            or word.is_filled
            or _NO_PATTERN.fullmatch(word.source)
        ):
            return f"{word.source} may stand for names of files"
    return Reads(tuple(word for word in arguments if word.is_glob))


def _printf(arguments: Sequence[Word]) -> Reads | str:
    if arguments and arguments[0].may_be_option:
        return "printf may set a variable"
    return _says(arguments)


def _command(arguments: Sequence[Word]) -> Reads | str:
    return Reads() if arguments and arguments[0].text in {"-v", "-V"} else "what it runs is not known"


def _env(arguments: Sequence[Word]) -> Reads | str:
    return "it shows the environment" if not arguments else "what it runs is not known"


_OF_TWO_FILES: Final = names("-nt -ot -ef")
_OF_FILES: Final = names("-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S") | _OF_TWO_FILES


def _test(arguments: Sequence[Word]) -> Reads | str:
    """`test`, `[` and `[[`: what stands behind the sign of a test of files is one, the rest are texts."""
    texts = ["", *(word.text for word in arguments), ""]
    return Reads(
        tuple(
            word
            for before, word, after in zip(texts, arguments, texts[2:], strict=False)
            if before is None or before in _OF_FILES or after in _OF_TWO_FILES
        )
    )


def _cd(arguments: Sequence[Word]) -> Reads | str:
    if len(arguments) != 1 or arguments[0].text is None or arguments[0].text.startswith("-"):
        return "it goes to a folder that is not known"
    return Reads((arguments[0],))


def _nothing(_arguments: Sequence[Word]) -> Reads | str:
    return Reads()  # what else it can do is a problem of the line


def _set(arguments: Sequence[Word]) -> Reads | str:
    return Reads() if arguments else "it shows the environment"


_CHECKS: Final[Mapping[str, Check]] = {
    "find": _find, "sed": sed, "date": _date, "echo": _says, "printf": _printf, "read": _nothing, "command": _command, "env": _env, "printenv": _env,
    "test": _test, "[": _test, "[[": _test, "cd": _cd, "set": _set, "local": _nothing, "shift": _nothing, "git": git_reads,
    "jq": jq, **dict.fromkeys(AWKS, awk),
}  # fmt: skip


def only_reads(program: Program) -> Reads | str:
    """Where a program reads that changes nothing; a text says why it is not known to be such a one.

    Args:
        program: As it was read from a command line. What its input is read from counts too.
    """
    if program.unresolved is not None:
        return program.unresolved
    if program.is_privileged:
        return f"{program.through[0]} runs it as somebody else"
    if program.writes:
        return f"it writes into {program.writes[0].source}"
    if program.sets:
        return f"it sets {program.sets[0]}"
    if not program.argv:
        return Reads(program.reads)
    name, arguments = program.argv[0].text or "", program.argv[1:]
    if name == "xargs" or not name:
        return "what it runs is not known"
    options = _TABLE.get(name)
    if len(arguments) == 1 and arguments[0].text in _VERSION and (options or name in _CHECKS):
        return Reads()
    if options is not None:
        reads = read_options(options, arguments)
    elif check := _CHECKS.get(name):
        reads = check(arguments)
    elif (told := tells(name, arguments)) is not None:
        reads = told
    else:
        return f"{name} is not known to only read"
    if isinstance(reads, str):
        return reads
    if name == "strings" and any((word.text or word.prefix or "@").startswith("@") for word in arguments):
        return "strings takes options from a file"  # wherever the word stands
    if name == "tree" and any(re.match(r"-\w*[ILP].", word.text or "") for word in arguments):
        return "tree goes on with options behind a letter that has a value"
    return reads._replace(paths=(*reads.paths, *program.reads)) if program.reads else reads
