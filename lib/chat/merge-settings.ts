/** Merges the settings of a model into what wins over them: a request, or settings that are nearer to it. */

import { withoutFieldsOf } from './generation-fields.ts'

/** By setting, the other name under which a request may say the same. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_completion_tokens'],
  ['max_completion_tokens', 'max_tokens'],
  ['tools', 'functions'],
  ['tool_choice', 'function_call']
])

/**
 * Returns the request with the settings that it says nothing of, under any name; the same object without
 * settings. A `generation_config` of the settings gives way to each field that says the same as one of its
 * entries.
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
