import { renewAttribution } from '../../validation/attribution.ts'
import { updateCall, type RoutedCall } from '../../core/call.ts'
import { completionRequestTexts } from './text-places.ts'
import type { TextInput } from '../../chat/input.ts'
import type { ReplaceText } from '../../json/place-table.ts'

/** Implements `Dialect.replaceTexts`: replaces both the prompt and its message. */
export function replaceCompletionTexts (
  call: RoutedCall<TextInput>,
  replace: ReplaceText
): RoutedCall<TextInput> {
  const { request } = call
  const { messages: _, text: { prompt: given, ...others }, ...rest } = request
  const asCame = { ...rest, prompt: given, ...others.suffix !== undefined && { suffix: others.suffix } }
  const replaced = completionRequestTexts.replace(asCame, replace)
  if (replaced === asCame) return call
  renewAttribution(asCame, replaced, call)
  // projects store the replaced request
  call.record.bodies?.takeRequest([Buffer.from(JSON.stringify(replaced))])
  const { prompt, suffix, ...fields } = replaced
  const text = { ...others, prompt, ...suffix !== undefined && { suffix } }
  return updateCall(call, {
    request: { ...fields, messages: [{ role: 'user', content: prompt }], text } satisfies TextInput
  })
}
