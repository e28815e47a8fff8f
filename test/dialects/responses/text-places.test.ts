import t from 'tap'
import {
  responsesDirectTexts,
  responsesItemTexts,
  responsesRequestTexts
} from '../../../lib/dialects/responses/text-places.ts'
import { packReasoning } from '../../../lib/dialects/responses/reasoning-state.ts'
import { InputItem } from '../../../schemas/response-items.ts'
import {
  CompactedResponse,
  CompactRequest,
  ResponseObject,
  ResponsesRequest,
  ResponseStreamEvent
} from '../../../schemas/responses.ts'
import { Type } from 'typebox'
import { countSeen, forgottenTexts, sentencesOf } from '../../support/schema-texts.ts'

const { answer, frames, textOf } = responsesDirectTexts

t.test('every string of the schemas is inspected, or exempt for a stated reason', t => {
  const rows = [
    ['a request', ResponsesRequest, responsesRequestTexts],
    ['a compaction', CompactRequest, responsesRequestTexts],
    ['stored items', Type.Array(InputItem), responsesItemTexts],
    ['an answer', ResponseObject, answer],
    ['an event of a stream', ResponseStreamEvent, frames]
  ] as const
  for (const [title, schema, places] of rows) {
    t.same(forgottenTexts(schema, places), [], title)
    t.ok(countSeen(schema, places) > 3, title)
  }
  t.same(forgottenTexts(CompactedResponse, answer), [], 'a compacted response')
  t.end()
})

t.test('a text ends with its part, its item and the response', t => {
  const place = { output_index: 1, content_index: 0, item_id: 'msg_1' }
  const { key } = textOf('response.output_text.delta', place)
  t.not(textOf('response.refusal.delta', place).key, key)
  t.not(textOf('response.output_text.delta', { ...place, content_index: 10 }).key, key)
  for (const [type, frame] of [
    ['response.output_text.done', place],
    ['response.content_part.done', place],
    ['response.output_item.done', { output_index: 1 }],
    ['response.completed', {}]
  ] as const) {
    const { ends = 'nothing' } = textOf(type, frame)
    t.ok(key.startsWith(ends), type)
    if (type !== 'response.completed') {
      t.notOk(
        textOf('response.output_text.delta', { ...place, output_index: 11 }).key.startsWith(ends),
        type
      )
    }
  }
  t.end()
})

t.test('an image is not inspected, but other content in its place is', t => {
  const base64 = Buffer.from('an image of an island').toString('base64')
  for (const [result, seen] of [[base64, []], ['a secret text', ['a secret text']]] as const) {
    const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result }
    t.same(sentencesOf({ input: [item] }, responsesRequestTexts), seen)
    t.same(sentencesOf({ output: [item] }, answer), seen)
    const frame = { type: 'response.image_generation_call.partial_image', partial_image_b64: result }
    t.same(sentencesOf(frame, frames), seen)
  }
  t.end()
})

t.test('commands for tools of the caller are inspected as text of a call', t => {
  const item = (said: string): object => ({
    input: [
      { type: 'local_shell_call', call_id: 'a', action: { type: 'exec', command: ['say', said] } },
      { type: 'shell_call', call_id: 'b', action: { commands: [said] } },
      { type: 'apply_patch_call', call_id: 'c', operation: { type: 'create_file', path: said, diff: said } }
    ]
  })
  const ofCalls = responsesRequestTexts.replace(item('bad'), (text, { part }) =>
    text === 'bad' && part === 'tool_call' ? 'good' : text)
  t.same(ofCalls, item('good'))
  t.end()
})

/** Arguments and results of provider tools, and the number of texts in each. */
const providerItems: ReadonlyArray<readonly [item: (said: string) => object, texts: number]> = [
  [
    said => ({
      type: 'web_search_call',
      action: { type: 'search', query: said, sources: [{ type: 'url', url: `https://example.com/${said}` }] },
      results: [{ url: `https://example.com/${said}`, title: said, snippet: said }]
    }),
    5
  ],
  [
    said => ({
      type: 'file_search_call',
      queries: [said],
      results: [{ file_id: 'island', filename: said, text: said, score: 1, attributes: { where: said } }]
    }),
    4
  ],
  [
    said => ({
      type: 'code_interpreter_call',
      container_id: 'island',
      code: said,
      outputs: [{ type: 'logs', logs: said }, { type: 'image', url: `https://example.com/${said}` }]
    }),
    3
  ],
  [said => ({ type: 'image_generation_call', result: 'island', revised_prompt: said }), 1],
  [
    said => ({
      type: 'shell_call_output',
      output: [{ stdout: said, stderr: said, outcome: { type: 'exit', exit_code: 0 } }]
    }),
    2
  ],
  [said => ({ type: 'computer_call', actions: [{ type: 'type', text: said }] }), 1],
  [said => ({ type: 'computer_call', pending_safety_checks: [{ id: 'island', message: said }] }), 1],
  [
    () => ({
      type: 'computer_call_output',
      output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,island' }
    }),
    0
  ],
  [said => ({ type: 'tool_search_call', arguments: { query: said } }), 1],
  [() => ({ type: 'reasoning', summary: [], encrypted_content: 'island' }), 0],
  [() => ({ type: 'compaction', encrypted_content: 'island' }), 0]
]

t.test('arguments and results of provider tools are masked, unless only the provider can read them', t => {
  for (const [item, texts] of providerItems) {
    const rows = [
      [(said: string) => ({ input: [item(said)] }), responsesRequestTexts],
      [(said: string) => [item(said)], responsesItemTexts],
      [(said: string) => ({ output: [item(said)] }), answer],
      [(said: string) => ({ type: 'response.output_item.done', output_index: 0, item: item(said) }), frames],
      [
        (said: string) => ({ type: 'response.completed', response: { output: [item(said)] } }),
        frames
      ]
    ] as const
    for (const [value, places] of rows) {
      let replaced = 0
      const masked = places.replace<unknown>(value('an island'), (text, { kind }) => {
        if (!text.includes('island')) return text
        t.equal(kind, 'text', JSON.stringify(item(text)))
        replaced++
        return text.replace('an island', '[place]')
      })
      t.same(masked, value('[place]'))
      t.equal(replaced, texts, JSON.stringify(item('')))
    }
  }
  t.end()
})

t.test('shell input and output and patches are masked in stream events', t => {
  const type = (name: string): string => `response.${name}`
  const rows: ReadonlyArray<(said: string) => object> = [
    command => ({ type: type('shell_call_command.added'), command_index: 0, command }),
    delta => ({ type: type('shell_call_command.delta'), command_index: 0, delta }),
    command => ({ type: type('shell_call_command.done'), command_index: 0, command }),
    stdout => ({ type: type('shell_call_output_content.delta'), command_index: 0, delta: { stdout } }),
    stderr => ({ type: type('shell_call_output_content.delta'), command_index: 0, delta: { stderr } }),
    stdout => ({ type: type('shell_call_output_content.done'), command_index: 0, output: [{ stdout }] }),
    delta => ({ type: type('apply_patch_call_operation_diff.delta'), delta }),
    diff => ({ type: type('apply_patch_call_operation_diff.done'), diff })
  ]
  for (const row of rows) {
    t.same(frames.replace(row('bad'), text => text === 'bad' ? 'good' : text), row('good'))
  }
  const place = { output_index: 1, item_id: 'sh_1' }
  const commands = [0, 1].map(command => textOf(type('shell_call_command.delta'), {
    ...place, command_index: command
  }).key)
  t.equal(new Set(commands).size, 2, 'each command is a separate text')
  t.end()
})

t.test('guards that read meaning get only the text of the model from an answer', t => {
  const content = [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }]
  const item = {
    type: 'message',
    id: 'msg_1',
    status: 'completed',
    role: 'assistant',
    phase: 'final_answer',
    content
  }
  const response = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [item],
    text: { format: { type: 'text' }, verbosity: 'medium' },
    truncation: 'disabled',
    service_tier: 'default'
  }
  t.same(sentencesOf(response, answer), ['Hello'])
  t.same(sentencesOf({ type: 'response.completed', response }, frames), ['Hello'])
  t.same(sentencesOf({ type: 'response.output_item.done', item }, frames), ['Hello'])
  t.end()
})

t.test('names of properties and attributes cannot hide a text', t => {
  for (const name of ['type', 'role', 'id', 'status', 'file_id']) {
    const texts = (said: string): object => ({ [name]: { type: 'string', description: said } })
    const schema = { type: 'object', properties: texts('a property'), default: { [name]: 'a default' } }
    const tool = { name: 'f', input_schema: schema, annotations: { [name]: 'a note' } }
    const own = { type: 'function', name: 'f', parameters: schema }
    const input = [
      { type: 'additional_tools', tools: [own, { type: 'namespace', name: 'n', tools: [own] }] },
      { type: 'tool_search_output', tools: [own] },
      { type: 'mcp_list_tools', tools: [tool] },
      { type: 'file_search_call', results: [{ file_id: 'file_1', attributes: { [name]: 'a result' } }] }
    ]
    const sentences = sentencesOf({ input }, responsesRequestTexts)
    const ofTool = ['a property', 'a default']
    t.same(
      sentences.filter(text => text.startsWith('a ')),
      [...ofTool, ...ofTool, ...ofTool, ...ofTool, 'a note', 'a result'],
      name
    )
    t.notOk(sentences.includes('file_1'), 'an id is not inspected')
  }
  t.end()
})

t.test('what the gateway packed in a reasoning item is inspected', t => {
  const encrypted = packReasoning({
    model: 'one/m',
    blocks: [{ type: 'thinking', thinking: 'To Zanzibar', signature: 'S1' }],
    details: [{ type: 'reasoning.text', text: 'By boat', signature: 'S2' }],
    callFields: { extra_content: { google: { thought_signature: 'S3' } } }
  })
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: encrypted }
  const seen: string[] = []
  responsesRequestTexts.replace({ input: [item] }, (text, { isName }) => {
    if (isName !== true) seen.push(text)
    return text
  })
  t.same(seen, ['To Zanzibar', 'By boat'])
  t.end()
})
