/** Text completions by models that only chat. */

import { unsupportedParameter } from '../core/errors.ts'
import type { ChatInput, TextInput } from '../chat/input.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Adapter, AdapterInput } from './provider.ts'

type TextAdapter = Adapter<TextInput, ChatEvent>

/**
 * Returns a text-completion adapter for chat-only models: the prompt becomes a message, the answer the
 * completion.
 */
export function promptAsMessage (chat: Adapter<ChatInput, ChatEvent>): TextAdapter {
  return {
    ...chat,
    request: input => {
      const { suffix, echo } = input.request.text
      if (suffix !== undefined) {
        throw unsupportedParameter(
          'suffix',
          'This model does not fill in the middle. Leave `suffix` out, or use a model for code at a provider that does.'
        )
      }
      if (echo === true) {
        throw unsupportedParameter('echo', 'This model does not repeat its prompt. Leave `echo` out.')
      }
      return chat.request(input)
    },
    // The parts differ only in `n`.
    split: input => (chat.split?.(input) ?? [input]) as ReadonlyArray<AdapterInput<TextInput>>
  }
}

/** Returns the text-completion adapter for a provider that has such an API for some of its models. */
export function textCompletionOf (
  models: RegExp,
  theirs: TextAdapter,
  chat: Adapter<ChatInput, ChatEvent>
): TextAdapter {
  const others = promptAsMessage(chat)
  const adapterOf = ({ route }: AdapterInput<TextInput>): TextAdapter =>
    models.test(route.model) ? theirs : others
  return {
    request: input => adapterOf(input).request(input),
    read: (head, input) => adapterOf(input).read(head, input),
    error: (failure, input) => adapterOf(input).error(failure, input),
    split: input => adapterOf(input).split?.(input) ?? [input]
  }
}
