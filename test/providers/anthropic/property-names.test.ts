import t from 'tap'
import { anthropicChat } from '../../../lib/providers/anthropic/index.ts'
import {
  replacedNames,
  withLegalNames,
  withOwnNames
} from '../../../lib/providers/anthropic/property-names.ts'
import { readResponse, streamOf } from '../../support/adapters.ts'
import { ask } from '../../support/anthropic-answers.ts'
import { readEvents } from '../../support/read-events.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

const legal = /^[a-zA-Z0-9_.-]{1,64}$/
const long = 'a'.repeat(70)
const own = ['$filter', 'filter[id]', 'user name', 'filter{id}', 'naïve', `${long}1`, `${long}2`, 'plain']
const parameters = {
  type: 'object',
  properties: Object.fromEntries(own.map(name => [name, { type: 'string' }])),
  required: ['$filter', 'plain']
}
const request = { tools: [{ type: 'function' as const, function: { name: 'list', parameters } }] }

function textOf (events: readonly ChatEvent[]): string {
  return events.map(event => event.type === 'tool-call-delta' ? event.text : '').join('')
}

t.test(
  'property names that the provider refuses get unique replacements, others are kept',
  async t => {
    // of the same form
    const { properties, required } = withLegalNames(parameters) as { properties: object, required: string[] }
    const sent = Object.keys(properties)
    t.ok(
      sent.every(name => legal.test(name)),
      sent.join(' ')
    )
    t.equal(new Set(sent).size, own.length)
    t.ok(sent.includes('plain'))
    t.ok(required.every(name => sent.includes(name)))
    const plain = { type: 'object', properties: { a: {} } }
    t.equal(withLegalNames(plain), plain)
  }
)

t.test('calls get the original property names back, complete and streamed', async t => {
  const { body } = anthropicChat.request({ ...ask(request), streamed: false })
  const [tool] = JSON.parse(String(body)).tools
  const args = Object.fromEntries(
    Object.keys(tool.input_schema.properties).map((name, index) => [name, `v${index}`])
  )
  const expected = JSON.stringify(Object.fromEntries(own.map((name, index) => [name, `v${index}`])))
  const call = { type: 'tool_use', id: 'k', name: 'list' }
  t.equal(
    textOf(
      readResponse(
        anthropicChat,
        { content: [{ ...call, input: args }], stop_reason: 'tool_use' },
        ask(request)
      )
    ),
    expected
  )
  const json = JSON.stringify(args)
  const events = [
    { type: 'message_start', message: { id: 'm' } },
    { type: 'content_block_start', index: 0, content_block: { ...call, input: {} } },
    ...[json.slice(0, 9), json.slice(9)].map(text => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: text }
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    { type: 'message_stop' }
  ]
  const stream = events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
  t.equal(textOf(readEvents([Buffer.from(stream)], streamOf(anthropicChat, ask(request)))), expected)
})

t.test('arguments that are not an object, and unknown tools, are unchanged', async t => {
  t.equal(replacedNames(request, 'other'), undefined)
  t.equal(
    replacedNames(
      { tools: [{ type: 'function', function: { name: 'list', parameters: { type: 'object' } } }] },
      'list'
    ),
    undefined
  )
  const names = replacedNames(request, 'list') ?? new Map<string, string>()
  for (const json of ['{"$filt', '[1]', '{"other":1}']) t.equal(withOwnNames(json, names), json)
})
