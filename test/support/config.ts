/** Configurations in temporary directories, and their problems. */

import type { Test } from 'tap'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { ConfigError, formatProblems, type Problem } from '../../lib/config/problems.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'

/** Returns a new working directory with these files. */
export function directory (t: Test, files: Record<string, string> = {}): string {
  const cwd = mkdtempSync(join(tmpdir(), 'headgate-config-'))
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), text)
  }
  return cwd
}

export type Env = Record<string, string | undefined>

export function load (t: Test, yaml: string, env: Env = {}): Settings {
  return loadSettings({ env, cwd: directory(t, { 'headgate.yaml': yaml }) })
}

export function failure (attempt: () => unknown): ConfigError {
  try {
    attempt()
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('nothing was wrong')
}

export function problems (t: Test, yaml: string, env: Env = {}): readonly Problem[] {
  return failure(() => load(t, yaml, env)).problems
}

export function lines (t: Test, yaml: string, env: Env = {}): string[] {
  return formatProblems(failure(() => load(t, yaml, env))).split('\n')
}

export function provider (settings: Settings, id: string): ProviderSettings {
  const found = settings.providers.find(entry => entry.id === id)
  if (found === undefined) throw new Error(`no provider ${id}`)
  return found
}

/** Lists the providers the gateway itself may use; callers may bring a key for any of the labels. */
export const ids = (settings: Settings): string[] =>
  settings.providers.filter(({ enabled }) => enabled).map(({ id }) => id)
