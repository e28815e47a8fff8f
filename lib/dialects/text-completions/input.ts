import { updateCall, type ValidCall } from '../../core/call.ts'
import { unsupportedParameter } from '../../core/errors.ts'
import { isAddedField } from '../../chat/added-fields.ts'
import { ChatRequest } from '../../../schemas/chat.ts'
import { TextCompletionRequest } from '../../../schemas/text-completions.ts'
import type { TextInput } from '../../chat/input.ts'

/** Chat fields, which no schema has checked here. */
const chatFields: ReadonlySet<string> = new Set(
  Object.keys(ChatRequest.properties).filter(name => !Object.hasOwn(TextCompletionRequest.properties, name))
)

/**
 * Adds the prompt as a message, for chat-only models.
 *
 * @throws GatewayError `unsupported_parameter` for multiple prompts, token arrays, and `best_of` other than
 *   `n`
 */
export function textInput (call: ValidCall<TextCompletionRequest>): ValidCall<TextInput> {
  const { prompt: given, suffix, echo, logprobs, best_of: bestOf, ...rest } = withoutChatFields(call.request)
  const prompt = promptOf(given)
  if (bestOf !== undefined && bestOf !== (rest.n ?? 1)) {
    throw unsupportedParameter('best_of', '`best_of` must equal `n`: all generated completions are returned.')
  }
  return updateCall(call, {
    request: {
      ...rest,
      messages: [{ role: 'user', content: prompt }],
      ...logprobs !== undefined && { logprobs: true, top_logprobs: logprobs },
      text: { prompt, ...suffix !== undefined && suffix !== '' && { suffix }, ...echo === true && { echo } }
    } satisfies TextInput
  })
}

function withoutChatFields (request: TextCompletionRequest): TextCompletionRequest {
  const isForeign = (name: string): boolean => chatFields.has(name) || isAddedField(name)
  if (!Object.keys(request).some(isForeign)) return request
  // the remaining fields
  return Object.fromEntries(
    Object.entries(request).filter(([name]) => !isForeign(name))
  ) as TextCompletionRequest
}

function promptOf (prompt: TextCompletionRequest['prompt']): string {
  if (typeof prompt === 'string') return prompt
  const [first, ...others] = prompt
  if (first !== undefined && typeof first !== 'string') {
    throw unsupportedParameter('prompt', 'Send the prompt as text: token ids differ between models.')
  }
  if (first === undefined || others.length > 0) {
    throw unsupportedParameter('prompt', 'Send one prompt per request.')
  }
  return first
}
