/** Converts LiteLLM's callback `otel` to `telemetry.otlp`. */

import { isPlainAddress, objectOrEmpty } from './values.ts'
import type { ImportPlan } from './plan.ts'
import type { ImportedSecrets } from './secrets.ts'
import { nonEmptyText, type JsonObject } from '../json/type-guards.ts'

/** Exporters that speak OTLP over HTTP; LiteLLM treats `console` as one if there is an address. */
const protocols: ReadonlyMap<string, string> = new Map([
  ['otlp_http', 'http/protobuf'],
  ['http/protobuf', 'http/protobuf'],
  ['http/json', 'http/json'],
  ['console', 'http/protobuf']
])

/**
 * Returns `telemetry`; `undefined` if the file has no address of the collector, or if it uses gRPC.
 *
 * @param path of the callback
 */
export function readTelemetry (
  file: JsonObject,
  path: string,
  plan: ImportPlan,
  secrets: ImportedSecrets
): JsonObject | undefined {
  const settings = objectOrEmpty(objectOrEmpty(file['callback_settings'])['otel'])
  const variables = objectOrEmpty(file['environment_variables'])
  const valueOf = (field: string, ...names: readonly string[]): string | undefined =>
    nonEmptyText(settings[field]) ??
    names.map(name => nonEmptyText(variables[name])).find(text => text !== undefined)
  const endpoint = valueOf('endpoint', 'OTEL_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const exporter = valueOf('exporter', 'OTEL_EXPORTER', 'OTEL_EXPORTER_OTLP_PROTOCOL') ?? 'otlp_http'
  const protocol = protocols.get(exporter)
  if (endpoint === undefined || protocol === undefined || !isPlainAddress(endpoint)) {
    plan.note(path, 'manual', 'set `telemetry.otlp.endpoint` to a collector by HTTP: docs/telemetry.md')
    return undefined
  }
  const headers = Object.fromEntries(
    (valueOf('headers', 'OTEL_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS') ?? '').split(',').flatMap(pair => {
      const at = pair.indexOf('=')
      const name = pair.slice(0, Math.max(0, at)).trim()
      const secret = name === '' ? undefined : secrets.refer(pair.slice(at + 1).trim(), `otlp_${name}`, path)
      return secret === undefined ? [] : [[name, secret]]
    })
  )
  for (const field of ['endpoint', 'exporter', 'headers']) {
    plan.note(`callback_settings.otel.${field}`, 'exact', '`telemetry.otlp`')
  }
  plan.note(path, 'approximate', '`telemetry.otlp`: spans by the conventions of OpenTelemetry, all of them')
  return {
    otlp: {
      endpoint: endpoint.replace(/\/(?:v1\/traces)?\/?$/, ''),
      protocol,
      ...Object.keys(headers).length > 0 && { headers },
      sample: 1
    }
  }
}
