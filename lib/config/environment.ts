/**
 * Reads environment variables, including those of a `.env` file.
 *
 * They are written over the file's entries before validation, so that they get the same checks, and so that
 * provider keys are references (`env:OPENAI_API_KEY`) like any other secret.
 */

import { readTextFile } from '../net/read-regular-file.ts'
import { isObject } from '../json/type-guards.ts'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { formatPath, type Path } from './path.ts'
import { ConfigError } from './problems.ts'
import { kinds, simulatorId, type VariablePrefix } from '../providers/kinds.ts'

/**
 * Providers that the environment can enable, with the prefixes of their variables, in order of preference.
 */
const prefixesById = new Map(
  Object.entries(kinds).flatMap(([id, { variables }]) =>
    variables === undefined ? [] : [[id, variables] as const]
  )
)

/** Values of `OTEL_…_EXPORTER`. */
const switches: ReadonlyMap<string, boolean> = new Map([['otlp', true], ['none', false]])

/** Variables that set one entry each. */
export const overrides = [
  { variable: 'PORT', path: ['server', 'port'], numeric: true },
  { variable: 'HOST', path: ['server', 'host'], numeric: false },
  { variable: 'HEADGATE_DATA_DIR', path: ['server', 'data_dir'], numeric: false },
  { variable: 'HEADGATE_WORKERS', path: ['server', 'workers'], numeric: true },
  { variable: 'HEADGATE_LOG_LEVEL', path: ['server', 'log_level'], numeric: false },
  { variable: 'HEADGATE_LOG_FORMAT', path: ['server', 'log_format'], numeric: false },
  { variable: 'HEADGATE_METRICS_HOST', path: ['metrics', 'host'], numeric: false },
  { variable: 'HEADGATE_METRICS_PORT', path: ['metrics', 'port'], numeric: true },
  {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    path: ['telemetry', 'otlp', 'endpoint'],
    numeric: false
  },
  {
    variable: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    path: ['telemetry', 'otlp', 'protocol'],
    numeric: false,
    // enables nothing by itself
    within: ['telemetry', 'otlp']
  },
  {
    variable: 'OTEL_TRACES_EXPORTER',
    path: ['telemetry', 'otlp', 'traces'],
    numeric: false,
    within: ['telemetry', 'otlp'],
    values: switches
  },
  {
    variable: 'OTEL_METRICS_EXPORTER',
    path: ['telemetry', 'otlp', 'metrics'],
    numeric: false,
    within: ['telemetry', 'otlp'],
    values: switches
  },
  {
    variable: 'OTEL_LOGS_EXPORTER',
    path: ['telemetry', 'otlp', 'logs'],
    numeric: false,
    within: ['telemetry', 'otlp'],
    values: switches
  },
  {
    variable: 'OTEL_METRIC_EXPORT_INTERVAL',
    path: ['telemetry', 'otlp', 'metrics_interval_ms'],
    numeric: true,
    within: ['telemetry', 'otlp']
  },
  {
    variable: 'OTEL_TRACES_SAMPLER',
    path: ['telemetry', 'otlp', 'sampler'],
    numeric: false,
    within: ['telemetry', 'otlp']
  },
  {
    variable: 'OTEL_TRACES_SAMPLER_ARG',
    path: ['telemetry', 'otlp', 'sample'],
    numeric: true,
    within: ['telemetry', 'otlp']
  }
] as const satisfies readonly Override[]

/** A variable and the entry it sets. */
interface Override {
  readonly variable: string
  readonly path: Path
  readonly numeric: boolean
  /** A map that must exist for the variable to have an effect. */
  readonly within?: Path
  /** Values by text. Default: the text itself, or its number. */
  readonly values?: ReadonlyMap<string, boolean>
}

const others = [
  'HEADGATE_CONFIG',
  'HEADGATE_API_KEYS',
  'HEADGATE_ADMIN_KEY',
  'HEADGATE_SANDBOX',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NO_PROXY'
] as const

export type Variable = typeof overrides[number]['variable'] | typeof others[number] |
  `${VariablePrefix}_API_KEY` | `${VariablePrefix}_BASE_URL`

/** Every variable that Headgate reads. `env:NAME` in the file may name others. */
export const variables: readonly Variable[] = [
  ...overrides.map(({ variable }) => variable),
  ...others,
  ...[...prefixesById.values()].flat().flatMap(prefix => (
    [`${prefix}_API_KEY`, `${prefix}_BASE_URL`] as const
  ))
]

/** The variable with the key of programs that call the gateway. The gateway does not read it. */
export const keyVariable = 'HEADGATE_API_KEY'

/** One variable for each provider that variables can enable, without aliases. */
export const providerKeys: readonly Variable[] = [...prefixesById.values()]
  .flatMap(prefixes => prefixes.slice(0, 1).map(prefix => `${prefix}_API_KEY` as const))

/** Only variables listed in `variables` can be read. */
export interface OwnVariables {
  readonly get: (name: Variable) => string | undefined
}

/**
 * Returns the variables that have a value. The environment takes precedence over `.env`, even with empty
 * values: `OPENAI_API_KEY= headgate start` disables what `.env` enables.
 *
 * @throws ConfigError for a `.env` that cannot be read.
 */
export function readEnvironment (
  env: Readonly<Record<string, string | undefined>>, cwd: string
): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries({ ...readDotenv(cwd), ...env })) {
    if (value !== undefined && value.trim() !== '') values.set(name, value.trim())
  }
  return values
}

/** @throws ConfigError for a `.env` that cannot be read. */
export function readDotenv (cwd: string): Record<string, string | undefined> {
  try {
    return parseEnv(readTextFile(join(cwd, '.env')))
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return {}
    throw new ConfigError([
      { file: '.env', line: 0, column: 0, path: '', message: `cannot be read (${code})` }
    ])
  }
}

/** Returns the code of a file error, such as `ENOENT`, without the system's message. */
export function errorCode (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

/** Entries set by the environment: the variable by path. */
export type Origins = ReadonlyMap<string, Variable>

/**
 * Writes the environment over the entries of a file, in place. URLs and settings replace existing entries;
 * provider keys are only added. The sandbox comes last, because it is used only if there is nothing else.
 *
 * @param value unchecked entries: those of the wrong shape are left alone
 */
export function applyEnvironment (value: Record<string, unknown>, environment: OwnVariables): Origins {
  const origins = new Map<string, Variable>()
  const write = (path: Path, entry: unknown, variable: Variable): void => {
    if (put(value, path, entry)) origins.set(formatPath(path), variable)
  }
  for (const override of overrides) {
    const { variable, path, numeric } = override
    const text = environment.get(variable)
    if (text === undefined) continue
    if ('within' in override && !isObject(entryAt(value, override.within))) continue
    const entry = numeric && /^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text
    write(path, 'values' in override ? (override.values.get(text) ?? text) : entry, variable)
  }
  for (const [id, prefixes] of prefixesById) {
    const isSet = (name: Variable): boolean => environment.get(name) !== undefined
    const key = prefixes.map(prefix => `${prefix}_API_KEY` as const).find(isSet)
    const url = prefixes.map(prefix => `${prefix}_BASE_URL` as const).find(isSet)
    const listed = entryAt(value, ['providers', id])
    if (
      key !== undefined &&
      (!isObject(listed) || (listed.api_key === undefined && listed.api_keys === undefined))
    ) {
      write(['providers', id, 'api_key'], `env:${key}`, key)
    }
    if (url !== undefined && isObject(entryAt(value, ['providers', id]))) {
      write(['providers', id, 'base_url'], environment.get(url), url)
    }
  }
  applySandbox(value, environment.get('HEADGATE_SANDBOX'), write)
  // not entries, but their problems need a location
  for (const name of ['HEADGATE_API_KEYS', 'HEADGATE_ADMIN_KEY'] as const) origins.set(name, name)
  return origins
}

/** Variables with a different description than their entry. */
export const messageOverrides: { readonly [name in Variable]?: string } = {
  HEADGATE_SANDBOX: 'must be on or off'
}

const sandboxWords = new Map([['on', true], ['true', true], ['off', false], ['false', false]])

function applySandbox (
  value: Record<string, unknown>,
  setting: string | undefined,
  write: (path: Path, entry: unknown, variable: Variable) => void
): void {
  const path = ['providers', simulatorId, 'enabled']
  if (setting !== undefined) {
    write(path, sandboxWords.get(setting.toLowerCase()) ?? setting, 'HEADGATE_SANDBOX')
    return
  }
  const providers = value.providers ?? {}
  if (!isObject(providers)) return
  const others = Object.values(providers).filter(entry => !isObject(entry) || entry.enabled !== false)
  if (others.length === 0 && providers[simulatorId] === undefined) put(value, path, true)
}

function entryAt (value: unknown, path: Path): unknown {
  return path.reduce((entry, step) => isObject(entry) ? entry[step] : undefined, value)
}

/** Sets an entry, creating maps on the way; returns false if something else is in the way. */
function put (value: Record<string, unknown>, path: Path, entry: unknown): boolean {
  let map = value
  for (const step of path.slice(0, -1)) {
    const next = map[step] ??= {}
    if (!isObject(next)) return false
    map = next
  }
  const last = path.at(-1)
  if (last !== undefined) map[last] = entry
  return true
}
