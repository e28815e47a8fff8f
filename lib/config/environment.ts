/**
 * Reads the environment: its own variables, and those of a `.env` file beside it.
 *
 * The environment is written over the file's entries before these are checked, so that a variable
 * goes through the same checks, and so that provider keys are references (`env:OPENAI_API_KEY`)
 * like any other secret.
 */

import { readTextFile } from '../net/read-regular-file.ts'
import { isObject } from '../json/guards.ts'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { formatPath, type Path } from './path.ts'
import { ConfigError } from './problems.ts'
import { kinds, simulatorId, type VariablePrefix } from '../providers/kinds.ts'

/** Providers the environment can switch on, with the prefixes of their variables, best first. */
const prefixesById = new Map(
  Object.entries(kinds).flatMap(([id, { variables }]) =>
    variables === undefined ? [] : [[id, variables] as const]
  )
)

/** Values of `OTEL_…_EXPORTER`. */
const switches: ReadonlyMap<string, boolean> = new Map([['otlp', true], ['none', false]])

/** Variables that stand for one entry each. */
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
    // by itself it switches nothing on
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

/** A variable, and the entry that it stands for. */
interface Override {
  readonly variable: string
  readonly path: Path
  readonly numeric: boolean
  /** A map without which the variable has no effect. */
  readonly within?: Path
  /** Entries by the text of the variable. Default: the text itself, or the number that it is. */
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

/** Every variable Headgate itself reads. `env:NAME` in the file may name any other. */
export const variables: readonly Variable[] = [
  ...overrides.map(({ variable }) => variable),
  ...others,
  ...[...prefixesById.values()].flat().flatMap(prefix => (
    [`${prefix}_API_KEY`, `${prefix}_BASE_URL`] as const
  ))
]

/** The variable in which programs that call the gateway find their key; it is not read here. */
export const keyVariable = 'HEADGATE_API_KEY'

/** One variable for each provider: those that switch them on, without their other names. */
export const providerKeys: readonly Variable[] = [...prefixesById.values()]
  .flatMap(prefixes => prefixes.slice(0, 1).map(prefix => `${prefix}_API_KEY` as const))

/** Only what `variables` lists can be read: a new variable has to be entered there first. */
export interface OwnVariables {
  readonly get: (name: Variable) => string | undefined
}

/**
 * Returns the variables that have a value. Those of the environment win over those of `.env`, also when
 * they are empty: `OPENAI_API_KEY= headgate start` switches off what `.env` switches on.
 *
 * @throws ConfigError when there is a `.env` that cannot be read.
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

/** @throws ConfigError when there is a `.env` that cannot be read. */
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

/** Returns `ENOENT` and the like: what went wrong with a file, without the system's sentence. */
export function errorCode (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

/** Entries that came from the environment: by the text of their path, the variable to blame. */
export type Origins = ReadonlyMap<string, Variable>

/**
 * Writes the environment over the entries of a file, in place: addresses and settings replace
 * what is there, keys of providers are added where there are none. The sandbox comes last, since
 * it is for when nothing else is there.
 *
 * @param value entries as written, not yet checked: what has the wrong shape is left alone
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
  // not entries, but what is wrong with them has a place
  for (const name of ['HEADGATE_API_KEYS', 'HEADGATE_ADMIN_KEY'] as const) origins.set(name, name)
  return origins
}

/** Variables with a description of their own, in place of that of the entry. */
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

/** Sets an entry, making the maps on the way; false where something else is in the way. */
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
