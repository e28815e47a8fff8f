/**
 * Gateways written in Python, or for it: each lives in a virtual environment under the user's cache folder
 * and is no dependency of ours.
 */

import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface PythonPackage {
  /** As pip takes it, with the version. */
  readonly requirement: string
  readonly folder: string
}

/** @param extra what of the package is wanted beside its usual parts */
export function pythonPackage (name: string, version: string, extra = ''): PythonPackage {
  return {
    requirement: `${name}${extra}==${version}`,
    folder: join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'headgate', `${name}-${version}`)
  }
}

export function installPythonPackage ({ requirement, folder }: PythonPackage): void {
  for (const [command, ...args] of [
    ['python3', '-m', 'venv', folder],
    [join(folder, 'bin/pip'), '--quiet', '--disable-pip-version-check', 'install', requirement]
  ] as const) {
    if (spawnSync(command, args, { stdio: 'inherit' }).status !== 0) {
      throw new Error(`pip could not install ${requirement}`)
    }
  }
}
