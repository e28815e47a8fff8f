/** Runs the LiteLLM proxy for comparison: `npm run bench:litellm`. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPythonPackage, pythonPackage } from './python-package.ts'
import { benchKey } from './settings.ts'

const installed = pythonPackage('litellm', '1.106.2', '[proxy]')

export const litellmEntry = join(installed.folder, 'bin/litellm')

/** As its documentation recommends for production: one worker per core, errors only in the log. */
export const litellmEnvironment = { LITELLM_MODE: 'PRODUCTION', LITELLM_LOG: 'ERROR' }

/** Writes its configuration as JSON, which is valid YAML, and returns its arguments. */
export function litellmArguments (file: string, port: number, upstreamPort: number): string[] {
  writeFileSync(
    file,
    JSON.stringify({
      model_list: ['mock', 'anthropic', 'google'].map(provider => ({
        model_name: `${provider}/*`,
        litellm_params: {
          model: 'openai/*',
          api_base: `http://127.0.0.1:${upstreamPort}/v1`,
          api_key: 'sk-mock'
        }
      })),
      general_settings: { master_key: benchKey },
      litellm_settings: { set_verbose: false, telemetry: false }
    })
  )
  return [
    '--config',
    file,
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--num_workers',
    '1',
    '--telemetry',
    'False'
  ]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) installPythonPackage(installed)
