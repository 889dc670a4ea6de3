"""A real VS Code workbench: code-server with the built extension, in headless Chromium.

`install-vscode.sh` beside this file gets what it needs; `OUTRIDER_EDITORS` names the folder it was put into.
"""

import importlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil

from editors import pace

READING_MILLISECONDS = 700
ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "editors" / "vscode"
SECONDS = 45.0
"""How long anything may take to be seen."""
PALETTE_MILLISECONDS = 5000
"""How long the command palette may take to list a command, until it is opened again."""

CLEAR: dict[str, Any] = {
    "key": "ctrl+alt+shift+f12",
    "command": "runCommands",
    "args": {
        "commands": [
            "workbench.action.closeAllEditors",
            "workbench.action.closePanel",
            "outrider.client.newSession",
        ]
    },
}
LEAVE: dict[str, Any] = {
    "key": "ctrl+alt+shift+f11",
    "command": "runCommands",
    "args": {"commands": ["workbench.view.explorer", "notifications.clearAll"]},
}
"""The keys that leave nothing in a window of what was done there."""

_IN_EDITOR = "document.activeElement.closest('.editor-group-container.active .monaco-editor') !== null"

SETTINGS: dict[str, Any] = {
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "workbench.welcomePage.walkthroughs.openOnInstall": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.colorTheme": "Default Dark Modern",
    "chat.disableAIFeatures": True,
    "extensions.ignoreRecommendations": True,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "files.autoSave": "off",
    "editor.minimap.enabled": False,
    "window.dialogStyle": "custom",
    "breadcrumbs.enabled": False,
    "git.enabled": False,
    # What Python leaves behind turns up in the list of files while a test clicks into it.
    "files.exclude": {"**/__pycache__": True},
}


def missing() -> str | None:
    """What keeps the workbench from being started here; None if nothing does."""
    tools = os.environ.get("OUTRIDER_EDITORS")
    if not tools:
        return "OUTRIDER_EDITORS does not name the folder made by tests/editors/install-vscode.sh"
    if not _code_server(Path(tools)).exists():
        return f"there is no code-server in {tools}"
    if _chromium() is None:
        return "Chromium is not installed"
    if importlib.util.find_spec("playwright") is None:
        return "the Python package playwright is not installed"
    if not list((EXTENSION / "dist-vsix").glob("*.vsix")):
        return "the extension is not packaged: npm run package in editors/vscode"
    return None


def _code_server(tools: Path) -> Path:
    return tools / "node_modules" / "code-server" / "out" / "node" / "entry.js"


def _node(tools: Path) -> Path:
    return tools / "node" / "node_modules" / "node" / "bin" / "node"


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def _code_server_command(*arguments: str | Path) -> list[str]:
    tools = Path(os.environ["OUTRIDER_EDITORS"])
    return [str(_node(tools)), str(_code_server(tools)), *map(str, arguments)]


def install_extension(extensions: Path) -> None:
    """Install the packaged extension into a folder of extensions."""
    (package,) = (EXTENSION / "dist-vsix").glob("*.vsix")
    command = _code_server_command(
        "--user-data-dir", extensions.parent / "install-data", "--extensions-dir", extensions,
        "--install-extension", package,
    )  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)


@dataclass
class Home:
    """A folder for what a window has beside the workspace: its settings, its scripts, its logs."""

    folder: Path
    windows: int = 0
    """How many windows were furnished, or one of them anew."""

    @property
    def data(self) -> Path:
        """What the editor keeps."""
        return self.folder / "data"

    @property
    def script(self) -> Path:
        """The answers of the model, of which each window has its own."""
        return self.folder / f"script-{self.windows}" / "script.json"

    @property
    def state(self) -> Path:
        """What the server keeps, of which each window has its own."""
        return self.folder / f"state-{self.windows}"

    @property
    def title(self) -> str:
        """What the window is called once it knows its settings."""
        return f"window {self.windows}"

    def furnish(
        self, turns: list[dict[str, Any]], settings: dict[str, Any] | None, keys: Sequence[Any] = ()
    ) -> None:
        """Put in what a window finds: a scripted model, settings, of which None takes one out, and bound keys."""
        self.windows += 1
        # It comes back with the text that nobody saved, where the browser was closed.
        shutil.rmtree(self.data / "User" / "Backups", ignore_errors=True)
        self.script.parent.mkdir(parents=True)
        self.script.write_text(pace.script(turns), encoding="utf-8")
        own = {
            "window.title": self.title,
            "outrider.server.command": [str(Path(sys.executable).with_name("outrider"))],
            "outrider.model": f"scripted:{self.script}",
            "outrider.stateDir": str(self.state),
        }
        given = {
            key: value for key, value in (SETTINGS | own | (settings or {})).items() if value is not None
        }
        # Of the whole application are these; a window that is open looks at the others alone, so they are in one file.
        application = {key: value for key, value in given.items() if not key.startswith("outrider.")}
        _write(self.data / "User" / "settings.json", application)
        _write(self.data / "User" / "keybindings.json", [CLEAR, LEAVE, *keys])
        _write(self.data / "Machine" / "settings.json", given)


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


class Workbench:
    """One window on a folder. Waits for what is to be seen; never for a time."""

    def __init__(
        self, page: Any, folder: Path, home: Home, process: psutil.Process, shots: Path | None
    ) -> None:
        self.page = page
        self._process = process
        self.home = home
        self.folder = folder
        self._shots = shots

    # Looking

    def until(self, check: Callable[[], Any], what: str, seconds: float = SECONDS) -> Any:
        """Look again and again until `check` gives something."""
        deadline = time.monotonic() + seconds
        while True:
            if found := check():
                return found
            if time.monotonic() >= deadline:
                self.shot("failed")
                raise AssertionError(f"not seen in {seconds:g} s: {what}\n{self.seen()}")
            self.page.wait_for_timeout(50)

    def seen(self) -> str:
        """What the window shows, in words, for a failure."""
        view = self.view_text() if self._frame() else "(no session view)"
        return f"status: {self.status()!r}\ntoasts: {self.toasts()}\nview: {view[-1500:]}\n"

    def shot(self, name: str) -> None:
        """Take a picture, where pictures are wanted."""
        if self._shots is not None:
            self.page.screenshot(path=str(self._shots / f"{name}.png"))

    def status(self) -> str:
        """The text of the status bar item."""
        item = self.page.locator('[id="outrider.outrider.outrider.status"], [id$="outrider.status"]')
        return item.first.inner_text() if item.count() else ""

    def toasts(self) -> list[str]:
        """The messages that are up."""
        return self._texts(".notification-toast")

    def _texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).evaluate_all("found => found.map(one => one.innerText)")

    def text(self) -> str:
        """What the active editor shows, as far as it is in sight."""
        lines = self.page.locator(".editor-group-container.active .editor-instance .view-line")
        rows = lines.evaluate_all("rows => rows.map(row => [parseFloat(row.style.top), row.innerText])")
        return "\n".join(text.replace("\u00a0", " ") for _, text in sorted(rows))

    def beside(self) -> list[str]:
        """What is shown behind lines, and is no text of them."""
        found = self.page.locator(".editor-group-container.active .view-line span")
        shown = found.evaluate_all("all => all.map(one => getComputedStyle(one, '::after').content)")
        return [json.loads(text) for text in shown if text.startswith('"')]

    def between(self) -> list[str]:
        """What would stand between the lines, hunk by hunk, and is no text of the file."""
        return [
            plain(text) for text in self._texts(".editor-group-container.active .review-widget .comment-body")
        ]

    def position(self) -> str:
        """Where the cursor is, as the status bar says it."""
        return "".join(self._texts('[id="status.editor.selection"]'))

    def lens(self, title: str) -> Any:
        """The first code lens of a title."""
        return self.page.locator(".codelens-decoration a", has_text=title).first

    def lenses(self) -> list[str]:
        """The code lenses in sight."""
        return self._texts(".codelens-decoration a")

    # The session view

    def _frame(self) -> Any:
        return next((frame for frame in self.page.frames if _holds(frame)), None)

    @property
    def view(self) -> Any:
        """The inner frame of the session view."""
        return self.until(self._frame, "the session view")

    def view_text(self) -> str:
        """All that the session view says."""
        try:
            return self.view.locator("#root").inner_text()
        except _playwright().Error as error:  # a frame that is just being replaced
            return f"({error})"

    def theme(self) -> str:
        """What kind of theme the session view has."""
        return str(self.view.locator("body").get_attribute("data-vscode-theme-kind"))

    # Doing

    def command(self, title: str) -> None:
        """Run a command from the command palette."""
        box = self.page.locator(".quick-input-widget input.input")
        row = self.page.locator(".quick-input-list .monaco-list-row").filter(has_text=title).first

        def found() -> bool:
            self.page.keyboard.press("F1")
            with suppress(_playwright().TimeoutError):
                box.fill(f">{title}", timeout=PALETTE_MILLISECONDS)
                row.wait_for(state="visible", timeout=PALETTE_MILLISECONDS)
                return True
            return False  # what just comes up took the keyboard away from it, and with that it closed

        self.until(found, f"the command {title}")
        row.click()

    def type_input(self, text: str) -> None:
        """Fill the input box that a command opened."""
        box = self.page.locator(".quick-input-widget input.input")
        self.until(lambda: box.is_visible() and not box.input_value().startswith(">"), "an input box")
        box.fill(text)
        box.press("Enter")

    def open(self, name: str) -> None:
        """Open a file by its name."""
        box = self.page.locator(".quick-input-widget input.input")
        # Clicked, as a key takes what the list had first before it knew the name: that may be the editor in sight.
        label = self.page.locator(".quick-input-list .monaco-list-row .label-name")
        row = label.filter(has_text=re.compile(f"^{re.escape(Path(name).name)}$")).first
        tab = self.page.locator(".tab.active").filter(has_text=name)

        def opened() -> bool:
            self.page.keyboard.press("Control+p")
            with suppress(_playwright().TimeoutError):
                box.fill(name, timeout=PALETTE_MILLISECONDS)
                row.click(timeout=PALETTE_MILLISECONDS)
                tab.wait_for(timeout=PALETTE_MILLISECONDS)
                return True
            self.shot("not-opened")
            return False  # what just comes up took the keyboard away from the list, and with that it closed

        self.until(opened, f"the tab of {name}")
        self.until(lambda: self.text().strip(), f"the text of {name}")

    def to_line(self, line: int) -> None:
        """Put the cursor on a line, from 1."""
        self.page.keyboard.press("Control+g")
        box = self.page.locator(".quick-input-widget input.input")
        box.wait_for(state="visible")
        box.fill(f":{line}")
        box.press("Enter")
        self.until(lambda: f"Ln {line}," in self.position(), f"line {line}")

    @contextmanager
    def second_window(self) -> Iterator["Workbench"]:
        """One more window on the same folder."""
        page = self.page.context.new_page()
        page.set_default_timeout(SECONDS * 1000)
        first = self.extension_hosts()
        try:
            page.goto(self.page.url)
            yield Workbench(page, self.folder, self.home, self._process, self._shots).started()
        finally:
            page.close()
            self.end_extensions(first)

    def started(self) -> "Workbench":
        """Wait until the window is there."""
        self.page.locator(".monaco-workbench .statusbar").wait_for(timeout=60_000)
        self.until(lambda: "Outrider" in self.status(), "the status bar item", 60)
        return self

    def renew(self, turns: list[dict[str, Any]], settings: dict[str, Any] | None = None) -> None:
        """Make it as good as a window that has just been opened, in a fifth of the time. Nothing may run in it."""
        keyboard = self.page.keyboard
        keep_not = self.page.locator(".monaco-dialog-box .monaco-button", has_text="Don't Save")

        def cleared() -> bool:
            if keep_not.count():
                keep_not.click()
            return self._frame() is not None and not self.page.locator(".tab").count()

        keyboard.press("Escape")
        keyboard.press("Control+Alt+Shift+F12")
        self.until(cleared, "an empty window")
        keyboard.press("Control+Alt+Shift+F11")
        self.until(lambda: self._frame() is None and not self.toasts(), "the window without the view")
        self.home.furnish(turns, settings)
        self.until(lambda: self.page.title() == self.home.title, "the settings")
        # A new place for what the server keeps wants a new server; one that cannot be started is told of.
        self.until(lambda: self.home.state.exists() or self.toasts(), "the server")

    def has_diff_focus(self) -> bool:
        """Whether the keyboard is in a diff."""
        return bool(self.page.evaluate("document.activeElement.closest('.monaco-diff-editor') !== null"))

    def change_setting(self, name: str, value: Any) -> None:
        """Change a setting of the user, which the window sees in the file."""
        for path in self.home.data.glob("*/settings.json"):
            _write(path, {**json.loads(path.read_text(encoding="utf-8")), name: value})

    def focus_editor(self) -> None:
        """Put the keyboard into the active editor."""
        lines = self.page.locator(".editor-group-container.active .editor-instance .view-lines").first

        def clicked() -> bool:
            lines.click()
            return bool(self.page.evaluate(_IN_EDITOR))

        self.until(clicked, "the keyboard in the editor")

    def has_editor_focus(self, name: str) -> bool:
        """Whether the keyboard is in the editor of a file."""
        tab = self.page.locator(".tab.active").filter(has_text=name)
        return bool(tab.count()) and bool(self.page.evaluate(_IN_EDITOR))

    def server(self) -> psutil.Process | None:
        """The process of the server."""
        for process in self._process.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if process.cmdline()[-1:] == ["serve"]:
                    return process
        return None

    def extension_hosts(self) -> list[psutil.Process]:
        """The processes that run the extension."""
        found = []
        for process in self._process.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if "--type=extensionHost" in process.cmdline():
                    found.append(process)
        return found

    def end_extensions(self, but: Sequence[psutil.Process] = ()) -> None:
        """End what runs the extension: of a page that was closed it stays for hours, as if the page might come back."""
        for process in self.extension_hosts():
            if process not in but:
                below = process.children(recursive=True)
                process.kill()
                psutil.wait_procs([process, *below], timeout=10)

    def read(self) -> None:
        """Take the time to read a dialog or a message: a yes that comes sooner is not taken."""
        self.page.wait_for_timeout(READING_MILLISECONDS)

    def click_toast(self, title: str) -> None:
        """Read a message and click a button of it."""
        self.read()
        self.page.locator(".notification-toast .monaco-button", has_text=title).first.click()


def _playwright() -> Any:
    # Not among the dependencies of the suite: only who runs these tests has it.
    return importlib.import_module("playwright.sync_api")


def _holds(frame: Any) -> bool:
    try:
        return frame.locator("#root .composer").count() > 0
    except _playwright().Error:  # a frame that is gone already
        return False


@dataclass(frozen=True)
class Browser:
    """A Chromium that keeps what it loaded for the next window, and the port at which it knows each of them."""

    context: Any
    port: int


@contextmanager
def browser(profile: Path, port: int) -> Iterator[Browser]:
    """Start one; what it loaded before with the same profile from the same port it has already."""
    with _playwright().sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=_chromium(),
            args=["--no-sandbox", "--disable-gpu"],
            viewport={"width": 1180, "height": 720},
        )
        try:
            yield Browser(context, port)
        finally:
            context.close()


class Windows:
    """The windows of one code-server, of which one is open at a time.

    A window costs ten seconds of two processors. So the next task finds the same one, as if it had just been opened:
    with its own settings, script and log, without what was open or said, and with the extension started again.
    """

    def __init__(self, browser: Browser, process: psutil.Process, home: Path, shots: Path | None) -> None:
        self._browser = browser
        self._process = process
        self._home = Home(home)
        self._shots = shots
        self._stack = ExitStack()
        self._open: Workbench | None = None

    @contextmanager
    def window(
        self,
        folder: Path,
        turns: list[dict[str, Any]],
        *,
        settings: dict[str, Any] | None = None,
        keys: Sequence[Any] = (),
        alone: bool = False,
    ) -> Iterator[Workbench]:
        """A window on a folder, with a server of this checkout and a scripted model.

        Args:
            folder: The workspace: a folder, or a file `….code-workspace`.
            turns: The answers of the model.
            settings: Further settings of the user; None takes one out.
            keys: Keys that the user has bound, in a window that is alone.
            alone: Whether the window is a new one, and no other task finds it.
        """
        if alone or self._open is None or self._open.folder != folder:
            self.close()
        try:
            if self._open is None:
                self._home.furnish(turns, settings, keys)
                self._open = self._stack.enter_context(self._new(folder))
            else:
                self._open.renew(turns, settings)
            yield self._open
        except BaseException:
            self.close()  # nobody knows how it was left
            raise
        if alone:
            self.close()

    def close(self) -> None:
        """Close the window, if one is open."""
        self._open = None
        self._stack.close()

    @contextmanager
    def _new(self, folder: Path) -> Iterator[Workbench]:
        kind = "folder" if folder.is_dir() else "workspace"
        with _page(self._browser, f"?{kind}={quote(str(folder))}") as page:
            bench = Workbench(page, folder, self._home, self._process, self._shots)
            try:
                yield bench.started()
            finally:
                bench.end_extensions()


@contextmanager
def code_server(browser: Browser, home: Path, extensions: Path, shots: Path | None) -> Iterator[Windows]:
    """Start a code-server at the port of a browser.

    Args:
        browser: Where its windows are shown.
        home: A folder for everything but the workspace and the extensions.
        extensions: Where the extension is installed.
        shots: Where pictures go; None for none.
    """
    command = _code_server_command(
        "--auth", "none", "--bind-addr", f"127.0.0.1:{browser.port}", "--user-data-dir", Home(home).data,
        "--extensions-dir", extensions, "--disable-telemetry", "--disable-update-check",
        "--disable-getting-started-override",
    )  # fmt: skip
    # Without this environment's programs: a server that is found on the path is not meant.
    path = [
        folder for folder in os.environ["PATH"].split(os.pathsep) if folder != str(Path(sys.prefix) / "bin")
    ]
    env = {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PATH": os.pathsep.join(path),
    }
    home.mkdir(parents=True, exist_ok=True)
    with (home / "code-server.log").open("wb") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait_for(browser.port, process)
            windows = Windows(browser, psutil.Process(process.pid), home, shots)
            try:
                yield windows
            finally:
                windows.close()
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)


@contextmanager
def _page(browser: Browser, asked: str) -> Iterator[Any]:
    origin = f"http://127.0.0.1:{browser.port}"
    page = browser.context.new_page()
    try:
        # What a window before left there: all but the parts of the workbench, which are the same.
        kept = {"origin": origin, "storageTypes": "cookies,local_storage,indexeddb,service_workers"}
        browser.context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
        page.set_default_timeout(SECONDS * 1000)
        page.goto(f"{origin}/{asked}", wait_until="commit")
        yield page
    finally:
        page.close()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    while True:
        assert process.poll() is None, "code-server ended at once"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, "code-server does not listen"
        time.sleep(0.1)


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def slowness() -> float:
    """How many times longer things take here because the processors have more to do than they can."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def plain(text: str) -> str:
    """A text with its white space made one space, as a page may break it anywhere."""
    return re.sub(r"\s+", " ", text)
