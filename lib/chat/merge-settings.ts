/** Merges settings of a model into a request, or into settings of higher priority. */

import { withoutFieldsOf } from './generation-fields.ts'

/** The alternative request field of a setting. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_completion_tokens'],
  ['max_completion_tokens', 'max_tokens'],
  ['tools', 'functions'],
  ['tool_choice', 'function_call']
])

/**
 * Adds the settings that the request does not set under any name; returns the same object without settings.
 * Request fields override equivalent entries in the `generation_config` of the settings.
 *
 * mergeSettings({ max_tokens: 50 }, { max_completion_tokens: 8000, seed: 1 }) // { seed: 1, max_tokens: 50 }
 */
export function mergeSettings<R extends object> (
  request: R,
  settings: Readonly<Record<string, unknown>> | undefined
): R {
  if (settings === undefined) return request
  const merged: Record<string, unknown> = {}
  for (const name in settings) {
    const other = otherNames.get(name)
    if (other !== undefined && Reflect.get(request, other) !== undefined) continue
    merged[name] = name === 'generation_config' ? withoutFieldsOf(settings[name], request) : settings[name]
  }
  return Object.assign(merged, request)
}
