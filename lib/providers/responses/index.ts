/** OpenAI's Responses API as it is at a provider: chat for models that nothing else serves, and requests of callers who speak it. */

import { nearestEffort, thinks } from '../../chat/effort.ts'
import { jsonOrSse } from '../json-response.ts'
import { splitChoices } from '../json-request.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { directReader, directRequest } from './direct.ts'
import { readDirectError, readError } from './errors.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Route } from '../../core/route.ts'
import type { Adapter, Ask } from '../provider.ts'

type ChatAdapter = Adapter<ChatInput, ChatEvent>

const responses: ChatAdapter = {
  directDialects: ['responses'],
  request: ask => ask.direct === undefined ? chatRequest(ask) : directRequest(ask.direct, ask.streamed),
  read: (_head, ask) => ask.direct === undefined ? jsonOrSse(ask, readResponse, readStream) : directReader(ask),
  error: (failure, ask) => ask.direct === undefined ? readError(failure) : readDirectError(failure, ask.direct.action),
  split: ask => splitChoices(ask, 1)
}

/**
 * Returns the adapter of a server that has this API beside chat completions: it gets the requests of callers who speak it,
 * and chat that chat completions does not serve: of some models all, of others that with tools.
 */
export function withResponses (chat: ChatAdapter): ChatAdapter & Required<Pick<ChatAdapter, 'deleteResponse'>> {
  const adapterOf = ({ direct, request, route }: Ask<ChatInput>): ChatAdapter =>
    direct?.dialect === 'responses' || (direct === undefined && needsResponses(request, route)) ? responses : chat
  return {
    directDialects: [...chat.directDialects ?? [], 'responses'],
    request: ask => adapterOf(ask).request(ask),
    read: (head, ask) => adapterOf(ask).read(head, ask),
    error: (failure, ask) => adapterOf(ask).error(failure, ask),
    deleteResponse: id => ({ method: 'DELETE', path: `/responses/${encodeURIComponent(id)}`, headers: { accept: 'application/json' } }),
    split: ask => adapterOf(ask).split?.(ask) ?? [ask]
  }
}

function needsResponses ({ tools = [], functions = [], reasoning_effort: wish }: ChatInput, { traits = {} }: Route): boolean {
  if (traits.responsesOnly === true) return true
  const effort = wish === undefined ? undefined : nearestEffort(wish, traits.efforts)
  return traits.toolsAtResponses === true && tools.length + functions.length > 0 && thinks(effort, traits)
}
