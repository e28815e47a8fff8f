/**
 * Gateways distributed as Python packages: each is installed in a virtual environment under the user's cache
 * folder and is not a dependency.
 */

import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface PythonPackage {
  /** The package and version for pip. */
  readonly requirement: string
  readonly folder: string
}

/** @param extra the optional extras of the package */
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
