/**
 * Runs the TensorZero gateway for comparison: `npm run bench:tensorzero`. Its Python package contains the
 * gateway, in Rust, and serves it from within the process.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deafCallers, lanes, slowStreams, type Lane } from './lanes.ts'
import { installPythonPackage, pythonPackage } from './python-package.ts'

const installed = pythonPackage('tensorzero', '2026.6.0')

export const tensorZeroEntry = join(installed.folder, 'bin/python')

/**
 * Serves the configuration in its first argument until it is killed, and writes its address to the file named
 * by the second one.
 */
const launcher = `
import signal, sys
from tensorzero.tensorzero import _start_http_gateway

gateway = _start_http_gateway(config_file=sys.argv[1], clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False)
with open(sys.argv[2], 'w') as file:
    file.write(gateway.base_url + '\\n')
signal.pause()
`

const models = new Set(
  [...lanes, ...slowStreams, ...deafCallers].map(({ body }) => /"model":"([^"]+)"/.exec(body)?.[1] ?? '')
)

/**
 * Writes its configuration and returns its arguments. Nothing is recorded: its records need a ClickHouse or a
 * PostgreSQL.
 *
 * @param addressFile where it will write its address
 */
export function tensorZeroArguments (file: string, addressFile: string, upstreamPort: number): string[] {
  writeFileSync(file, [
    '[gateway]',
    'observability.enabled = false',
    'disable_pseudonymous_usage_analytics = true',
    ...[...models].flatMap(model => [
      `[models."${model}"]`,
      'routing = ["mock"]',
      `[models."${model}".providers.mock]`,
      'type = "openai"',
      `model_name = "${model}"`,
      `api_base = "http://127.0.0.1:${upstreamPort}/v1"`,
      'api_key_location = "none"'
    ])
  ].join('\n'))
  return ['-c', launcher, file, addressFile]
}

/** Returns the port in its address, once it has written it. */
export function tensorZeroPort (addressFile: string): number | undefined {
  const address = existsSync(addressFile) ? readFileSync(addressFile, 'utf8') : ''
  return address.endsWith('\n') ? Number(new URL(address.trim()).port) : undefined
}

/**
 * Returns the lane with its path and model names; it reports the usage in the same chunk as the finish
 * reason.
 */
export function forTensorZero (lane: Lane): Lane {
  return {
    ...lane,
    path: '/openai/v1/chat/completions',
    body: lane.body.replace('"model":"', '"model":"tensorzero::model_name::'),
    expected: { ...lane.expected, frames: Math.max(lane.expected.frames - 1, 0) }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) installPythonPackage(installed)
