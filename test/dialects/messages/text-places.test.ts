import t from 'tap'
import {
  messagesAnswerTexts,
  messagesFrameTexts,
  messagesRequestTexts,
  messagesTextOf
} from '../../../lib/dialects/messages/text-places.ts'
import { toolResult, type TextPlace } from '../../../lib/json/place-table.ts'
import { MessagesAnswer, MessagesStreamEvent } from '../../../schemas/messages-answer.ts'
import { CountTokensRequest, MessagesRequest } from '../../../schemas/messages-request.ts'
import { countSeen, forgottenTexts, sentencesOf } from '../../support/schema-texts.ts'

t.test('every string of the schemas is seen, or not seen for a reason', t => {
  const rows = [
    ['a request', MessagesRequest, messagesRequestTexts],
    ['a token count', CountTokensRequest, messagesRequestTexts],
    ['an answer', MessagesAnswer, messagesAnswerTexts],
    ['an event of a stream', MessagesStreamEvent, messagesFrameTexts]
  ] as const
  for (const [title, schema, places] of rows) {
    t.same(forgottenTexts(schema, places), [], title)
    t.ok(countSeen(schema, places) > 3, title)
  }
  t.end()
})

t.test('a text ends with its block, and all with the message', t => {
  const { key } = messagesTextOf('content_block_delta', { index: 1, delta: { type: 'text_delta' } })
  t.not(messagesTextOf('content_block_delta', { index: 1, delta: { type: 'thinking_delta' } }).key, key)
  t.not(messagesTextOf('content_block_delta', { index: 11, delta: { type: 'text_delta' } }).key, key)
  const ends = messagesTextOf('content_block_stop', { index: 1 }).ends ?? 'nothing'
  t.ok(key.startsWith(ends))
  t.notOk(
    messagesTextOf('content_block_delta', { index: 11, delta: { type: 'text_delta' } }).key.startsWith(ends)
  )
  t.equal(messagesTextOf('message_delta', {}).ends, '')
  t.end()
})

t.test('what reads for sense sees of an answer what the model says', t => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1, service_tier: 'standard' }
  }
  t.same(sentencesOf(message, messagesAnswerTexts), ['Hello'])
  t.same(sentencesOf({ type: 'message_start', message }, messagesFrameTexts), ['Hello'])
  const delta = { stop_reason: 'end_turn', stop_sequence: null }
  t.same(sentencesOf({ type: 'message_delta', delta }, messagesFrameTexts), [])
  t.end()
})

t.test('what a tool server returned is the result of a tool, in requests and answers', t => {
  const said = 'From Zanzibar'
  const block = { type: 'mcp_tool_result', tool_use_id: 'm1', content: [{ type: 'text', text: said }] }
  const rows = [
    [{ messages: [{ role: 'assistant', content: [block] }] }, messagesRequestTexts],
    [{ content: [block] }, messagesAnswerTexts],
    [{ type: 'content_block_start', index: 0, content_block: block }, messagesFrameTexts]
  ] as const
  for (const [value, places] of rows) {
    const seen: TextPlace[] = []
    places.replace<unknown>(value, (text, place) => {
      if (text === said) seen.push(place)
      return text
    })
    t.same(seen, [toolResult], JSON.stringify(value))
  }
  t.end()
})

t.test('no name of a property hides a text of a tool', t => {
  const tool = {
    name: 'f',
    input_schema: { properties: { type: { description: 'a type' } } },
    input_examples: [{ type: 'an example', role: { id: 'another' } }],
    cache_control: { type: 'ephemeral', ttl: '1h' }
  }
  t.same(sentencesOf({ tools: [tool] }, messagesRequestTexts), ['a type', 'an example', 'another'])
  t.end()
})
