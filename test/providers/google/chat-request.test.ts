import t from 'tap'
import { googleChat, googleHeaders } from '../../../lib/providers/google/index.ts'
import { streamOf } from '../../support/adapters.ts'
import { googleAsk, googleBody } from '../../support/google.ts'
import { readEvents } from '../../support/read-events.ts'
import { sse } from '../../support/google-answers.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { FaultKind } from '../../../lib/core/errors.ts'

t.test('model and method are in the path, the key in a header, and nothing else leaks', async t => {
  const complete = googleChat.request(googleAsk())
  t.match(complete, { method: 'POST', path: '/v1beta/models/gemini-2.5-flash:generateContent' })
  const streamed = googleChat.request({ ...googleAsk({}, 'odd/na me?x'), streamed: true })
  t.equal(streamed.path, '/v1beta/models/odd%2Fna%20me%3Fx:streamGenerateContent?alt=sse')
  t.same(googleHeaders('k'), { 'x-goog-api-key': 'k' })
  t.same(
    googleBody({
      model: 'google/m',
      stream: true,
      user: 'u',
      metadata: { a: 'b' },
      store: true,
      logit_bias: { 1: 2 },
      parallel_tool_calls: false,
      thinking: { type: 'disabled' },
      deferred: true,
      search_parameters: {},
      verbosity: 'low',
      disable_automatic_function_calling: true,
      stop: [],
      tools: [],
      tool_choice: 'none',
      service_tier: 'auto',
      n: 1
    }),
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
  )
})

t.test('one request asks for as many candidates as the model supports', async t => {
  t.same(googleChat.split?.(googleAsk({ n: 9 })).map(({ request }) => request.n), [8, undefined])
  t.equal(googleChat.split?.(googleAsk({ n: 2 }, 'gemini-3-pro-preview')).length, 2)
})

t.test('requests that would be answered wrongly are refused, naming the parameter', async t => {
  const user = (part: object): Partial<ChatInput> => ({
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'x' }, part as { type: 'text', text: string }] }
    ]
  })
  const call = (args: string): Partial<ChatInput> => ({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: args } }] },
      { role: 'tool', tool_call_id: 'a', content: '' }
    ]
  })
  const tool = (name: string): Partial<ChatInput> => ({ tools: [{ type: 'function', function: { name } }] })
  const cases: Array<[Partial<ChatInput>, string, FaultKind?]> = [
    [{ modalities: ['text', 'audio'] }, 'modalities', 'unsupported'],
    [{ audio: { format: 'mp3', voice: 'v' } }, 'audio', 'unsupported'],
    [user({ type: 'file', file: { file_id: 'f' } }), 'messages[0].content[1].file.file_id', 'unsupported'],
    [user({ type: 'file', file: {} }), 'messages[0].content[1].file.file_data'],
    [
      user({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }),
      'messages[0].content[1].image_url.url'
    ],
    [
      user({ type: 'image_url', image_url: { url: 'data:image/png,raw' } }),
      'messages[0].content[1].image_url.url'
    ],
    [{ tools: [{ type: 'custom', custom: { name: 'c' } }] }, 'tools[0].type', 'unsupported'],
    [tool('a b'), 'tools[0].function.name'],
    [tool('1a'), 'tools[0].function.name'],
    [tool('a'.repeat(129)), 'tools[0].function.name'],
    [{ functions: [{ name: 'a/b' }] }, 'functions[0].name'],
    [{ ...tool('a'), tool_choice: { type: 'function', function: { name: 'b' } } }, 'tool_choice'],
    [{ ...tool('a'), tool_choice: { type: 'custom', custom: { name: 'a' } } }, 'tool_choice', 'unsupported'],
    [{ functions: [{ name: 'a' }], function_call: 'b' }, 'function_call'],
    [
      { tools: [{ function: { name: 'a', parameters: { type: 'string' } } }] },
      'tools[0].function.parameters'
    ],
    [call('[1]'), 'messages[1].tool_calls[0].function.arguments'],
    [call('{"a":'), 'messages[1].tool_calls[0].function.arguments'],
    [{ messages: call('').messages?.slice(0, 2) ?? [] }, 'messages[1].tool_calls[0].id'],
    [
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'tool', tool_call_id: 'a', content: '' }
        ]
      },
      'messages[1].tool_call_id'
    ],
    [{ messages: [{ role: 'user', content: '' }] }, 'messages']
  ]
  for (const [request, param, fault = 'final'] of cases) {
    t.throws(() => googleBody(request), { name: 'GatewayError', status: 400, param, fault }, param)
  }
})

t.test('service tiers are renamed for Google', async t => {
  t.equal(googleBody({ service_tier: 'default' }).serviceTier, 'standard')
  t.equal(googleBody({ service_tier: 'flex' }).serviceTier, 'flex')
  t.equal(googleBody({ service_tier: 'auto' }).serviceTier, undefined)
  t.match(readEvents([sse({
    candidates: [{ finishReason: 'STOP' }], usageMetadata: { serviceTier: 'STANDARD' }
  })], streamOf(googleChat, googleAsk()))[0], { serviceTier: 'default' })
})
