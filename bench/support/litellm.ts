/**
 * Puts the LiteLLM proxy beside us, to be compared with: `npm run bench:litellm`. It is no dependency of ours and
 * lives in a virtual environment of Python under the user's cache folder.
 */

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { benchKey } from './settings.ts'

const version = '1.106.2'
const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'headgate', `litellm-${version}`)

export const litellmEntry = join(folder, 'bin/litellm')

/** Its documents on production: one worker for each core, errors only in the log. */
export const litellmEnvironment = { LITELLM_MODE: 'PRODUCTION', LITELLM_LOG: 'ERROR' }

/** Writes its configuration, which is JSON as YAML allows, and returns its arguments. */
export function litellmArguments (file: string, port: number, upstreamPort: number): string[] {
  writeFileSync(file, JSON.stringify({
    model_list: ['mock', 'anthropic', 'google'].map(provider => (
      { model_name: `${provider}/*`, litellm_params: { model: 'openai/*', api_base: `http://127.0.0.1:${upstreamPort}/v1`, api_key: 'sk-mock' } }
    )),
    general_settings: { master_key: benchKey },
    litellm_settings: { set_verbose: false, telemetry: false }
  }))
  return ['--config', file, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1', '--telemetry', 'False']
}

function install (): void {
  for (const [command, ...args] of [
    ['python3', '-m', 'venv', folder],
    [join(folder, 'bin/pip'), '--quiet', '--disable-pip-version-check', 'install', `litellm[proxy]==${version}`]
  ] as const) {
    if (spawnSync(command, args, { stdio: 'inherit' }).status !== 0) throw new Error('pip could not install LiteLLM')
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install()
