import t from 'tap'
import {
  messagesAnswerTexts,
  messagesFrameTexts,
  messagesRequestTexts,
  messagesTextOf
} from '../../../lib/dialects/messages/text-places.ts'
import { unpackFields, packFields } from '../../../lib/json/packed-fields.ts'
import { toolResult, type TextPlace } from '../../../lib/json/place-table.ts'
import { MessagesAnswer, MessagesStreamEvent } from '../../../schemas/messages-answer.ts'
import { CountTokensRequest, MessagesRequest } from '../../../schemas/messages-request.ts'
import { countSeen, forgottenTexts, sentencesOf } from '../../support/schema-texts.ts'

t.test('every string of the schemas is inspected, or exempt for a stated reason', t => {
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

t.test('a text ends with its block, and every text with the message', t => {
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

t.test('guards that read meaning get only the text of the model from an answer', t => {
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

t.test('the result of an MCP server is treated as a tool result, in requests and answers', t => {
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

/** Results of provider tools, with a text in each place that has one, and the number of such places. */
const providerResults: ReadonlyArray<
  readonly [type: string, content: (said: string) => unknown, texts: number]
> = [
  [
    'web_search_tool_result',
    said => [
      {
        type: 'web_search_result',
        url: `https://example.com/${said}`,
        title: said,
        encrypted_content: 'island',
        page_age: said
      }
    ],
    3
  ],
  ['web_search_tool_result', () => ({ type: 'web_search_tool_result_error', error_code: 'unavailable' }), 0],
  [
    'web_fetch_tool_result',
    said => ({
      type: 'web_fetch_result',
      url: `https://example.com/${said}`,
      retrieved_at: said,
      content: {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: said },
        title: said,
        citations: { enabled: true }
      }
    }),
    4
  ],
  [
    'web_fetch_tool_result',
    said => ({
      type: 'web_fetch_result',
      content: {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'island' },
        title: said
      }
    }),
    1
  ],
  [
    'code_execution_tool_result',
    said => ({
      type: 'code_execution_result',
      stdout: said,
      stderr: said,
      return_code: 0,
      content: [{ type: 'code_execution_output', file_id: 'island' }]
    }),
    2
  ],
  [
    'code_execution_tool_result',
    said => ({ type: 'encrypted_code_execution_result', encrypted_stdout: 'island', stderr: said }),
    1
  ],
  ['bash_code_execution_tool_result', said => ({ type: 'bash_code_execution_result', stdout: said }), 1],
  [
    'text_editor_code_execution_tool_result',
    said => ({ type: 'text_editor_code_execution_view_result', file_type: 'text', content: said }),
    1
  ],
  [
    'text_editor_code_execution_tool_result',
    said => ({ type: 'text_editor_code_execution_str_replace_result', lines: [said, said] }),
    2
  ],
  [
    'tool_search_tool_result',
    said => ({ type: 'tool_search_tool_result_error', error_code: 'unavailable', error_message: said }),
    1
  ],
  [
    'tool_search_tool_result',
    () => ({
      type: 'tool_search_tool_search_result',
      tool_references: [{ type: 'tool_reference', tool_name: 'island' }]
    }),
    0
  ],
  ['advisor_tool_result', said => ({ type: 'advisor_result', text: said }), 1],
  ['advisor_tool_result', () => ({ type: 'advisor_redacted_result', encrypted_content: 'island' }), 0]
]

t.test('results of provider tools are masked, except for data that only the provider can read', t => {
  for (const [type, content, texts] of providerResults) {
    const block = (said: string): object => ({ type, tool_use_id: 'island', content: content(said) })
    const rows = [
      [
        (said: string) => ({ messages: [{ role: 'assistant', content: [block(said)] }] }),
        messagesRequestTexts
      ],
      [(said: string) => ({ content: [block(said)] }), messagesAnswerTexts],
      [
        (said: string) => ({ type: 'content_block_start', index: 0, content_block: block(said) }),
        messagesFrameTexts
      ]
    ] as const
    for (const [value, places] of rows) {
      let replaced = 0
      const masked = places.replace<unknown>(value('an island'), (text, { kind, part }) => {
        if (!text.includes('island')) return text
        t.same([kind, part], ['text', 'tool_result'], text)
        replaced++
        return text.replace('an island', '[place]')
      })
      t.same(masked, value('[place]'), type)
      t.equal(replaced, texts, type)
    }
  }
  t.end()
})

t.test('property names cannot hide a text of a tool', t => {
  const tool = {
    name: 'f',
    input_schema: { properties: { type: { description: 'a type' } } },
    input_examples: [{ type: 'an example', role: { id: 'another' } }],
    cache_control: { type: 'ephemeral', ttl: '1h' }
  }
  t.same(sentencesOf({ tools: [tool] }, messagesRequestTexts), ['a type', 'an example', 'another'])
  t.end()
})

t.test('what the gateway packed is inspected, and unsigned reasoning in it replaced', t => {
  const packed = packFields({
    reasoning_content: 'To Zanzibar',
    reasoning_details: [{ type: 'reasoning.text', text: 'By boat', signature: 'S1', data: 'D1' }]
  })
  const request = { messages: [{ content: [{ type: 'thinking', thinking: '', signature: packed }] }] }
  const seen: string[] = []
  const replaced = messagesRequestTexts.replace(request, (text, { isName }) => {
    if (isName !== true) seen.push(text)
    return text.replace('Zanzibar', 'X').replace('boat', 'X')
  })
  t.same(seen, ['To Zanzibar', 'By boat'])
  t.same(unpackFields(replaced.messages[0]?.content[0]?.signature ?? ''), {
    reasoning_content: 'To X',
    reasoning_details: [{ type: 'reasoning.text', text: 'By boat', signature: 'S1', data: 'D1' }]
  })
  t.equal(messagesRequestTexts.replace(request, text => text), request, 'the same, if nothing is replaced')
  const damaged = { messages: [{ content: [{ type: 'thinking', thinking: '', signature: 'hg1.??' }] }] }
  t.equal(messagesRequestTexts.replace(damaged, text => `${text}!`), damaged)
  t.end()
})
