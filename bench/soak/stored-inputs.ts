/**
 * Calls stored at and above the maximum size, and reading and deleting them.
 */

import { completeAnswer, frame, textFrame } from '../../lib/load/answers.ts'
import { sendJson } from './provider.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Input } from './input.ts'

const MB = 1_000_000
const chatPath = '/v1/chat/completions'
const responsesPath = '/v1/responses'
const model = 'openai/gpt-5'

/** Bytes of answers that are stored, and of those that are not. */
const answerSizes = [5, 7]
const streamedTexts = 10_000

/** Answers prompts such as `an answer of 5 MB`; all others normally. */
export function largeAnswers (_: IncomingMessage, response: ServerResponse, body: string): void {
  const size = body.length > 1000 ? undefined : /an answer of (\d+) MB/.exec(body)?.[1]
  if (size === undefined) return sendJson(response, completeAnswer)
  const text = 'word '.repeat((Number(size) * MB) / 5)
  if (!body.includes('"stream":true')) {
    return sendJson(response, completeAnswer.replace(/"content":"(?:[^"\\]|\\.)*"/, `"content":"${text}"`))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const length = text.length / streamedTexts
  for (let number = 0; number < streamedTexts; number++) {
    response.write(textFrame(text.slice(number * length, (number + 1) * length)))
  }
  response.end(`${frame({}, 'stop')}data: [DONE]\n\n`)
}

const json = (body: object) => (): Buffer => Buffer.from(JSON.stringify({ model, ...body }))
const image = (size: number): string => `data:image/png;base64,${'A'.repeat(size * MB)}`
const imageItem = (size: number): object => ({
  role: 'user',
  content: [{ type: 'input_image', image_url: image(size) }]
})

const deferredAt: Input['later'] = ({ request_id: id }) =>
  typeof id === 'string' ? `/v1/chat/deferred-completion/${id}` : undefined
const responseAt: Input['later'] = ({ id, background }) =>
  background === true ? `${responsesPath}/${String(id)}` : undefined

const largeRequests: readonly Input[] = [48, 6].flatMap((size): Input[] => [
  {
    name: `a deferred call of ${size} MB`,
    path: chatPath,
    later: deferredAt,
    body: json({
      deferred: true,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: image(size) } }] }]
    })
  },
  { name: `a stored response of ${size} MB`, path: responsesPath, body: json({ input: [imageItem(size)] }) },
  {
    name: `a response in the background of ${size} MB`,
    path: responsesPath,
    later: responseAt,
    body: json({ background: true, input: [imageItem(size)] })
  }
])

const withLargeAnswers: readonly Input[] = answerSizes.flatMap((size): Input[] => {
  const name = `an answer of ${size} MB`
  return [
    {
      name: `a deferred call with ${name}`,
      path: chatPath,
      later: deferredAt,
      body: json({ deferred: true, messages: name })
    },
    { name: `a stored response with ${name}`, path: responsesPath, body: json({ input: name }) },
    {
      name: `a response in the background with ${name}`,
      path: responsesPath,
      later: responseAt,
      body: json({ background: true, input: name })
    },
    {
      name: `a stream in the background with ${name}`,
      path: responsesPath,
      body: json({ background: true, stream: true, input: name })
    }
  ]
})

/** The newest response of the conversation. */
let newest = ''
const noteNewest: Input['later'] = ({ id }) => {
  newest = String(id)
  return undefined
}

/** Nearly the maximum of a conversation, in responses of nearly the maximum size. */
const conversation: readonly Input[] = [
  ...Array.from({ length: 8 }, (_, number): Input => ({
    name: `response ${number + 1} of a conversation, of 6 MB`,
    path: responsesPath,
    later: noteNewest,
    body: () => json({ input: [imageItem(6)], ...newest !== '' && { previous_response_id: newest } })()
  })),
  {
    name: 'a turn that continues 48 MB',
    path: responsesPath,
    body: () => json({ input: 'x', previous_response_id: newest, store: false })()
  },
  {
    name: 'a page of the items of 48 MB',
    method: 'GET',
    path: () => `${responsesPath}/${newest}/input_items?limit=100`
  },
  { name: 'the last response of the conversation', method: 'GET', path: () => `${responsesPath}/${newest}` },
  {
    name: 'the last response of the conversation, deleted',
    method: 'DELETE',
    path: () => `${responsesPath}/${newest}`
  }
]

/** More than a key may store: the oldest are deleted. */
const evicting: readonly Input[] = Array.from({ length: 16 }, (_, number) => ({
  name: `response ${number + 1} of a key with no room left, of 6 MB`,
  path: responsesPath,
  body: json({ input: [imageItem(6)] })
}))

export const storedInputs: readonly Input[] = [
  ...conversation,
  ...largeRequests,
  ...withLargeAnswers,
  ...evicting
]

/** Bytes that a key may store here. */
export const maxBytesPerKey = 150 * MB
