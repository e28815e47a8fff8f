import t from 'tap'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'
import { timeouts, transport, weather, time, query, user, complete, message } from '../support/sandbox.ts'

t.test('a reasoning model reasons for as long as its effort says, and others do not reason', async t => {
  const effort = async (reasoning_effort?: string): Promise<number> =>
    (await message({ model: 'thinker', messages: user('Hi'), reasoning_effort })).reasoning_content
      ?.length ?? 0
  const lengths = [
    await effort('none'),
    await effort('minimal'),
    await effort('low'),
    await effort(),
    await effort('high')
  ]
  t.equal(lengths[0], 0)
  t.same(lengths, lengths.toSorted((a, b) => a - b))
  t.equal(new Set(lengths).size, 5)
  t.notOk('reasoning_content' in await message({ messages: user('Hi'), reasoning_effort: 'high' }))
})

t.test('choices differ, and the same choice is always the same', async t => {
  const ask = async () =>
    (await complete({ messages: user('Hi'), n: 4 })).choices.map(({ message }) => message.content)
  t.equal(new Set(await ask()).size, 4)
  t.same(await ask(), await ask())
})

t.test('tool results are followed by a text that contains them', async t => {
  const tools = [weather, time]
  const after = (turns: number, question = 'weather and time') => [
    ...user(question),
    ...Array.from({ length: turns }, (_, turn) => [
      {
        role: 'assistant',
        tool_calls: [
          { id: `a${turn}`, type: 'function', function: { name: 'get_weather', arguments: '{}' } }
        ]
      },
      { role: 'tool', tool_call_id: `a${turn}`, content: [{ type: 'text', text: `sunny, ${turn} degrees` }] }
    ]).flat()
  ]
  t.match(await message({ messages: after(1), tools }), {
    content: 'The tool get_weather returned: sunny, 0 degrees'
  })
  t.match(
    await message({ messages: after(1), tools, parallel_tool_calls: false }),
    { tool_calls: [{ function: { name: 'get_time' } }] },
    'one at a time: the second call takes the second turn'
  )
  t.match(await message({ messages: after(2), tools, parallel_tool_calls: false }), { content: /1 degrees/ })
  const rounds = 'weather [sandbox: rounds=2]'
  t.match(await message({ messages: after(1, rounds), tools }), { tool_calls: [{}] })
  t.match(await message({ messages: after(2, rounds), tools }), { content: /1 degrees/ })
  t.match(
    await message({ messages: [...after(1), ...user('weather')], tools }),
    { tool_calls: [{}] },
    'a new question, a first turn'
  )
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
  const shown = {
    role: 'user',
    content: [{ type: 'text', text: 'Image 1 of the result of get_weather:' }, picture]
  }
  t.match(
    await message({ messages: [...after(1), shown], tools }),
    { content: 'The tool get_weather returned: sunny, 0 degrees' },
    'pictures of the results are no new question'
  )
  t.match(await message({ messages: after(1), functions: [weather.function, time.function] }), {
    function_call: { name: 'get_time' }
  })
  t.match(
    await message({
      messages: [
        ...user('weather'),
        { role: 'assistant', content: null, function_call: { name: 'get_weather', arguments: '{}' } },
        { role: 'function', name: 'get_weather', content: 'rain' }
      ],
      functions: [weather.function]
    }),
    { content: 'The tool get_weather returned: rain' }
  )
})

t.test("the dialect's adapter reads a stream and a complete answer alike", async t => {
  const gather = (events: readonly ChatEvent[]): object => {
    const seen: Record<string, unknown> = {}
    for (const event of events) {
      const key = [
        event.type,
        'choice' in event ? event.choice : '',
        'callIndex' in event ? event.callIndex : ''
      ].join(' ')
      const { [key]: before } = seen
      const text = typeof before === 'string' ? before : ''
      seen[key] = 'text' in event ? text + event.text : { ...event, id: '' }
    }
    return seen
  }
  const { signal } = new AbortController()
  const through = async (request: object, streamed: boolean): Promise<ChatEvent[]> => {
    const ask: AdapterInput<ChatInput> = {
      request: { model: 'sandbox/thinker', messages: [{ role: 'user', content: 'Hi' }], n: 2, ...request },
      route: { providerId: 'sandbox', model: 'thinker', modelId: 'sandbox/thinker' },
      quirks: { tokenLimitField: 'max_completion_tokens' },
      streamed
    }
    const answer = await transport.send(chatCompletions.request(ask), {
      signal,
      credential: {},
      timeouts,
      streamed
    })
    const bytes = await answer.body.buffer(1e8)
    return streamed
      ? readEvents([bytes], streamOf(chatCompletions, ask))
      : readResponse(chatCompletions, JSON.parse(bytes.toString()), ask)
  }
  for (const request of [
    { reasoning_effort: 'low' },
    { messages: user('weather and time, and run_sql with "x"'), tools: [weather, time, query] },
    { messages: user('weather'), functions: [weather.function] },
    { messages: user('[sandbox: refuse]'), max_tokens: 3 }
  ]) {
    const complete = gather(await through(request, false))
    t.same(gather(await through(request, true)), complete, JSON.stringify(request))
    t.match(complete, { 'choice-end 0 ': {}, 'choice-end 1 ': {}, 'usage  ': {} })
  }
  const directed = (directive: string) => ({ messages: user(`Hi [sandbox: ${directive}]`) })
  await t.rejects(through(directed('end after=2'), true), { code: 'upstream_stream_interrupted' })
  await t.rejects(through(directed('garbage after=2'), true), { code: 'upstream_invalid_response' })
  await t.rejects(through(directed('error code=rate_limit_exceeded'), true), { code: 'rate_limit_exceeded' })
  await t.rejects(through(directed('error code=rate_limit_exceeded'), false), { code: 'rate_limit_exceeded' })
})
