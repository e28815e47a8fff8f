import { GatewayError } from '../core/errors.ts'
import type { ChatInput, TextInput } from '../chat/input.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Failure } from './provider-failure.ts'
import type { Adapter, Ask } from './provider.ts'

type TextAdapter = Adapter<TextInput, ChatEvent>

/** Returns the adapter of text completions for models that only chat: the prompt is a message, and the answer the completion. */
export function promptAsMessage (chat: Adapter<ChatInput, ChatEvent>): TextAdapter {
  return {
    ...chat,
    request: ask => {
      const { suffix, echo } = ask.request.text
      if (suffix !== undefined) throw unsupported('suffix', 'This model does not fill in the middle. Leave `suffix` out, or use a model for code at a provider that does.')
      if (echo === true) throw unsupported('echo', 'This model does not repeat its prompt. Leave `echo` out.')
      return chat.request(ask)
    },
    error: (failure, ask) => aboutPrompt(chat.error(failure, ask)),
    split: ask => (chat.split?.(ask) ?? [ask]) as ReadonlyArray<Ask<TextInput>> // the same request but for `n`
  }
}

/** Returns the adapter of text completions for a provider with an API for some of its models. */
export function textCompletionOf (models: RegExp, theirs: TextAdapter, chat: Adapter<ChatInput, ChatEvent>): TextAdapter {
  const others = promptAsMessage(chat)
  const adapterOf = ({ route }: Ask<TextInput>): TextAdapter => models.test(route.model) ? theirs : others
  return {
    request: ask => adapterOf(ask).request(ask),
    read: (head, ask) => adapterOf(ask).read(head, ask),
    error: (failure, ask) => adapterOf(ask).error(failure, ask),
    split: ask => adapterOf(ask).split?.(ask) ?? [ask]
  }
}

/** Names `prompt` where chat would name its messages. */
export function aboutPrompt (failure: Failure): Failure {
  const isPrompt = failure.param?.startsWith('messages') ?? failure.kind === 'context_length'
  return isPrompt ? { ...failure, param: 'prompt' } : failure
}

function unsupported (param: string, message: string): GatewayError {
  return new GatewayError('unsupported_parameter', { param, message })
}
