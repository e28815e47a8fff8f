/** `POST /chat/completions`: reads the request, composes the answer, prints it. */

import { randomUUID } from 'node:crypto'
import { applyDirectives } from './apply-directives.ts'
import { composeAnswer } from './answer.ts'
import { readChatBody } from './chat-body.ts'
import { streamOf } from './chat-stream.ts'
import { completionOf } from './chat-completion.ts'
import { readDirectives } from './directives.ts'
import { characters } from './sandbox-models.ts'
import { checkPromptLength } from './prompt-length.ts'
import { readQuestion } from './last-message.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { jsonScript, type Script } from './script.ts'
import type { SandboxOptions } from './options.ts'
import type { UpstreamRequest } from '../providers/provider.ts'

/** @throws SandboxRefusal 404 for an unknown model; 400 for unsupported directives */
export async function chatCompletions (request: UpstreamRequest, options: SandboxOptions): Promise<Script> {
  const body = await readChatBody(request)
  const model = body.model.replace(/^sandbox\//, '')
  const character = characters.get(model)
  if (character === undefined) {
    throw new SandboxRefusal(
      404,
      `The model '${model}' does not exist. Available models: ${[...characters.keys()].join(', ')}.`,
      {
        code: 'model_not_found',
        param: 'model'
      }
    )
  }
  checkPromptLength(body)
  const question = readQuestion(body.messages)
  const directives = readDirectives(question.raw, model, question.turn)
  const answer = composeAnswer({ body, question, model, character, directives })
  const headers = { 'x-request-id': `req_${randomUUID()}` }
  const streamed = body.stream === true
  const script: Script = !streamed
    ? jsonScript(200, completionOf(answer, body), headers)
    : {
        before: [],
        status: 200,
        headers: {
          ...headers,
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-cache'
        },
        body: streamOf(answer, body, directives.pace ?? character.wordsPerSecond ?? options.wordsPerSecond)
      }
  return applyDirectives(script, directives, streamed)
}
