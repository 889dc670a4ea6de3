/** Reads which colours the editor's theme gives to code: pages of extensions are told of all others, but not of these. */

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse } from "jsonc-parser";
import * as vscode from "vscode";

import { type Colour, type ThemeRule, coloursOf } from "../core/theme.js";

/** Themes that others include go no deeper. */
const DEEPEST = 5;

/** The colours, as far as they are known: a theme may be installed elsewhere, or be no JSON. */
export async function themeColours(): Promise<Partial<Record<Colour, string>>> {
  const wanted = themeName();
  for (const extension of vscode.extensions.all) {
    const { contributes } = extension.packageJSON as { contributes?: { themes?: unknown } };
    const themes = Array.isArray(contributes?.themes) ? (contributes.themes as Record<string, unknown>[]) : [];
    const theme = themes.find(({ id, label }) => id === wanted || label === wanted);
    if (typeof theme?.["path"] !== "string" || extension.extensionUri.scheme !== "file") continue;
    return coloursOf([...(await rulesOf(join(extension.extensionPath, theme["path"]), DEEPEST)), ...ownRules()]);
  }
  return {};
}

/** The name of the theme that is shown: where it follows the system, that is another setting. */
function themeName(): string | undefined {
  const window = vscode.workspace.getConfiguration("window");
  const workbench = vscode.workspace.getConfiguration("workbench");
  const { kind } = vscode.window.activeColorTheme;
  const { Dark, HighContrast, HighContrastLight } = vscode.ColorThemeKind;
  if (window.get("autoDetectHighContrast") === true && (kind === HighContrast || kind === HighContrastLight))
    return workbench.get(
      kind === HighContrast ? "preferredHighContrastColorTheme" : "preferredHighContrastLightColorTheme",
    );
  if (window.get("autoDetectColorScheme") === true)
    return workbench.get(kind === Dark ? "preferredDarkColorTheme" : "preferredLightColorTheme");
  return workbench.get("colorTheme");
}

async function rulesOf(path: string, deepest: number): Promise<ThemeRule[]> {
  let theme: Record<string, unknown>;
  try {
    theme = (parse(await readFile(path, "utf8")) ?? {}) as Record<string, unknown>;
  } catch {
    return [];
  }
  const { include, tokenColors } = theme;
  const included =
    typeof include === "string" && deepest > 0 ? await rulesOf(join(dirname(path), include), deepest - 1) : [];
  return [...included, ...(Array.isArray(tokenColors) ? (tokenColors as ThemeRule[]) : [])];
}

/** What the user's settings say besides, for all themes. */
function ownRules(): ThemeRule[] {
  const custom = vscode.workspace
    .getConfiguration("editor")
    .get<{ textMateRules?: unknown }>("tokenColorCustomizations");
  return Array.isArray(custom?.textMateRules) ? (custom.textMateRules as ThemeRule[]) : [];
}
