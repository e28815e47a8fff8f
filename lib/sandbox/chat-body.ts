/** A chat request as the sandbox receives it: the supported fields of the dialect. */

import { readJsonBody } from './read-json-body.ts'
import { isObject } from '../json/type-guards.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import type { ChatInput } from '../chat/input.ts'
import type { UpstreamRequest } from '../providers/provider.ts'

export type ChatBody = Pick<ChatInput,
  | 'messages' | 'max_tokens' | 'max_completion_tokens' | 'stop' | 'n' | 'seed' | 'logprobs' | 'top_logprobs'
  | 'stream' | 'stream_options' | 'response_format' | 'reasoning_effort' | 'tools' | 'tool_choice'
  | 'parallel_tool_calls' | 'functions' | 'function_call'
> & {
  readonly model: string
}

/** @throws SandboxRefusal 400 for a body that is not a chat request */
export async function readChatBody ({ body }: UpstreamRequest): Promise<ChatBody> {
  const value = await readJsonBody(body)
  if (!isChat(value)) {
    throw new SandboxRefusal(400, 'The body needs a model and a list of messages.', { param: 'messages' })
  }
  return value
}

// The adapter writes this body out of a request that was validated, so its outline is enough.
function isChat (value: unknown): value is ChatBody {
  return isObject(value) && typeof value['model'] === 'string' && Array.isArray(value['messages'])
}
