import t from 'tap'
import type { ValidCall } from '../../../lib/core/call.ts'
import { ValidationError } from '../../../lib/core/errors.ts'
import { chatInput, chatSizes } from '../../../lib/dialects/chat-completions/input.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import { checkChatRules } from '../../../lib/chat/rules.ts'
import { callerParam } from '../../../lib/providers/caller-param.ts'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { routedCall } from '../../support/stages.ts'
import type { ChatRequest } from '../../../schemas/chat.ts'
import type { Message } from '../../../schemas/messages.ts'

function callWith (request: Partial<ChatRequest>): ValidCall<ChatRequest> {
  return routedCall({ model: 'openai/gpt-5', ...request })
}

function resolved (request: Partial<ChatRequest>): ChatInput {
  return chatInput(callWith(request)).request
}

const hi: Message = { role: 'user', content: 'hi' }
const brief: Message = { role: 'system', content: 'be brief' }
const kind: Message = { role: 'developer', content: 'be kind' }
const yes: Message = { role: 'assistant', content: 'yes' }

/** Returns the error that `step` throws, or undefined. */
function thrown (step: () => unknown): unknown {
  try {
    step()
  } catch (error) {
    return error
  }
  return undefined
}

function noText (field: string, index: number): object {
  return {
    status: 422,
    detail: [{ loc: ['body', field, index], msg: 'Value error, expected a text block', type: 'value_error' }]
  }
}

function system (content: string | object[]): object {
  return { role: 'system', content }
}

t.test('every way to give a conversation is normalized to messages', async t => {
  const rows: Array<[why: string, given: Partial<ChatRequest>, messages: object[]]> = [
    ['messages unchanged', { messages: [hi, yes, hi] }, [hi, yes, hi]],
    ['a text as one user message', { messages: 'hi' }, [hi]],
    ['input without messages', { input: 'hi' }, [hi]],
    ['input as a list', { input: [hi, yes] }, [hi, yes]],
    ['input beside an empty list', { messages: [], input: 'hi' }, [hi]],
    ['messages instead of input', { messages: [hi], input: 'other' }, [hi]],

    [
      'images of tool results in a user message',
      {
        messages: [
          hi,
          {
            role: 'tool',
            tool_call_id: 'a',
            content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }]
          }
        ]
      },
      [
        hi,
        { role: 'tool', tool_call_id: 'a', content: '[image 1 of tool call a: in the next message]' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'The image 1 of tool call a:' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
          ]
        }
      ]
    ],

    [
      'system first, before system messages',
      { system: 'a', messages: [hi, brief, kind] },
      [system('a'), hi, brief, kind]
    ],
    ['system_instruction without system', { system_instruction: 'a', messages: [hi] }, [system('a'), hi]],
    [
      'system instead of system_instruction',
      { system: 'a', system_instruction: 'b', messages: [hi] },
      [system('a'), hi]
    ],
    [
      "Google's shape",
      { system_instruction: { parts: [{ text: 'a' }, { text: 'b' }] }, messages: [hi] },
      [
        system([
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' }
        ]),
        hi
      ]
    ],
    ['an unknown shape is ignored', { system_instruction: { foo: 'bar' }, messages: [hi] }, [hi]],

    [
      'instructions instead of all else',
      {
        instructions: 'a',
        system: 'b',
        system_instruction: 'c',
        messages: [brief, hi, kind, yes]
      },
      [system('a'), hi, yes]
    ],
    ['instructions with input', { instructions: 'a', input: 'hi' }, [system('a'), hi]],
    ['instructions alone', { instructions: 'a' }, [system('a')]],
    ['empty instructions are ignored', { instructions: '', messages: [brief, hi] }, [brief, hi]],
    ['an empty system is ignored', { system: [], messages: [hi] }, [hi]],

    [
      'other keys of blocks are kept',
      {
        system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }, 'b'],
        messages: [hi]
      },
      [
        system([
          { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
          { type: 'text', text: 'b' }
        ]),
        hi
      ]
    ],
    [
      'blocks without a type, or of the Responses API',
      { system: [{ text: 'a' }, { type: 'input_text', text: 'b' }], messages: [hi] },
      [
        system([
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' }
        ]),
        hi
      ]
    ],
    [
      'messages in place of blocks',
      {
        instructions: [brief, { role: 'system', content: ['a', { type: 'text', text: 'b', x: 1 }] }],
        messages: [hi]
      },
      [
        system([
          { type: 'text', text: 'be brief' },
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b', x: 1 }
        ]),
        hi
      ]
    ]
  ]
  for (const [why, given, messages] of rows) t.strictSame(resolved(given).messages, messages, why)
})

t.test('a conversation that needs no change is not copied, and the request is never modified', async t => {
  const messages = [hi, yes]
  const call = callWith({ messages, stop_sequences: ['a'] })
  const { request } = call
  const before = structuredClone(request)
  t.equal(chatInput(call).request.messages, messages)
  t.strictSame(request, before)
})

t.test('a request without aliases is used as is, with the same call object', async t => {
  const call = callWith({ messages: [hi, yes], temperature: 1 })
  const { request } = call
  const given = chatInput(call)
  t.equal(given, call)
  t.equal(given.request, request)
})

t.test('a call without a conversation is refused', async t => {
  const missing = { loc: ['body', 'messages'], msg: 'Field required', type: 'missing' }
  const empty = { loc: ['body', 'messages'], type: 'too_short', ctx: { min_length: 1, actual_length: 0 } }
  const rows: Array<[given: Partial<ChatRequest>, detail: object]> = [
    [{}, missing],
    [{ system: 'a' }, missing],
    [{ instructions: '' }, missing],
    [{ input: [] }, missing],
    [{ messages: [] }, empty],
    [{ messages: [], system: 'a' }, empty]
  ]
  for (const [given, detail] of rows) {
    t.match(
      thrown(() => resolved(given)),
      { status: 422, detail: [detail] },
      JSON.stringify(given)
    )
  }
})

t.test('a system prompt with a non-text part is refused, not truncated', async t => {
  t.match(
    thrown(() => resolved({ messages: 'hi', system: ['a', { type: 'image_url' }] })),
    noText('system', 1)
  )
  t.match(
    thrown(() => resolved({ messages: 'hi', instructions: [{ content: [{ content: ['a'] }] }] })),
    noText('instructions', 0)
  )
  t.match(
    thrown(() => resolved({ messages: 'hi', system_instruction: { parts: [5] } })),
    noText('system_instruction', 0)
  )
  // an object
  const deep = JSON.parse('{"content":['.repeat(10_000) + ']}'.repeat(10_000)) as Record<string, unknown>
  t.throws(() => resolved({ messages: 'hi', system: [deep] }), ValidationError)
})

t.test('aliases are normalized to one spelling', async t => {
  const rows: Array<[given: Partial<ChatRequest>, result: Partial<ChatInput>]> = [
    [{ stop_sequences: ['a'] }, { stop: ['a'] }],
    [{ stop: 'b', stop_sequences: ['a'] }, { stop: 'b' }],
    [{ auto_execute_tools: false }, { automatic_tool_execution: false }],
    [{ auto_execute_tools: false, automatic_tool_execution: true }, { automatic_tool_execution: false }],
    [{ auto_execute_tools: true, automatic_tool_execution: false }, { automatic_tool_execution: false }],
    [{ auto_execute_tools: true }, {}],
    [{ cachedContent: 'a' }, { cached_content: 'a' }],
    [{ cached_content: 'b', cachedContent: 'a' }, { cached_content: 'b' }],
    [{ service_tier: 'fast' }, { service_tier: 'priority' }],
    [{ service_tier: 'flex', stop_sequences: ['a'] }, { service_tier: 'flex', stop: ['a'] }]
  ]
  for (const [given, result] of rows) {
    t.strictSame(resolved({ messages: [hi], ...given }), {
      model: 'openai/gpt-5',
      messages: [hi],
      ...result
    })
  }
})

t.test('contradictory fields are refused, consistent ones pass', async t => {
  const rows: Array<[given: Partial<ChatRequest>, error: object | undefined]> = [
    [{}, undefined],

    [{ top_logprobs: 1, logprobs: true }, undefined],
    [{ top_logprobs: 1 }, { status: 400, code: 'invalid_value', param: 'top_logprobs' }],
    [
      { top_logprobs: 0, logprobs: false },
      { status: 400, param: 'top_logprobs' }
    ],

    [{ modalities: ['text'] }, undefined],
    [{ modalities: ['text', 'audio'], audio: { format: 'wav', voice: 'alloy' } }, undefined],
    [{ modalities: ['text', 'audio'] }, { status: 400, code: 'invalid_value', param: 'audio' }],

    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, undefined],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 2001 }, undefined],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 2000 }, undefined],
    [
      { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 1, max_completion_tokens: 4000 },
      undefined
    ],
    [{ thinking: { type: 'disabled' }, max_tokens: 1 }, undefined],

    [{ mcp_servers: 'org/tools' }, undefined],
    [{ mcp_servers: ['org/tools', { slug: 'org/tools', url: null }, { url: 'https://a' }] }, undefined],
    [
      { mcp_servers: ['org/tools', {}] },
      {
        status: 422,
        detail: [
          {
            loc: ['body', 'mcp_servers', 1],
            msg: 'Value error, give exactly one of slug and url',
            type: 'value_error'
          }
        ]
      }
    ],
    [
      { mcp_servers: { slug: 'a/b', url: 'https://a' } },
      { status: 422, detail: [{ loc: ['body', 'mcp_servers'] }] }
    ]
  ]
  for (const [given, error] of rows) {
    const call = chatInput(callWith({ messages: [hi], ...given }))
    if (error === undefined) t.equal(checkChatRules(call), call, JSON.stringify(given))
    else
      t.match(
        thrown(() => checkChatRules(call)),
        error,
        JSON.stringify(given)
      )
  }
})

t.test('every form of tool choice is converted to that of the dialect', async t => {
  const named = { type: 'function' as const, function: { name: 'f' } }
  const row = (
    given: NonNullable<ChatRequest['tool_choice']>,
    choice: unknown,
    parallel?: boolean
  ): void => {
    t.match(
      resolved({ messages: 'hi', tool_choice: given }),
      { tool_choice: choice, parallel_tool_calls: parallel },
      JSON.stringify(given)
    )
  }
  for (const plain of ['none', 'auto', 'required'] as const) row(plain, plain)
  row(named, named)
  row({ type: 'custom', custom: { name: 'f' } }, { type: 'custom' })
  row({ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } }, { type: 'allowed_tools' })
  row({ type: 'auto' }, 'auto')
  row({ type: 'any' }, 'required')
  row({ type: 'none', disable_parallel_tool_use: true }, 'none')
  row({ type: 'tool', name: 'f' }, named)
  row({ type: 'any', disable_parallel_tool_use: true }, 'required', false)
  row({ type: 'auto', disable_parallel_tool_use: null }, 'auto')
  row({ server_label: 'weather', name: 'f' }, named)
  t.equal(
    resolved({
      messages: 'hi',
      tool_choice: { type: 'any', disable_parallel_tool_use: false },
      parallel_tool_calls: false
    }).parallel_tool_calls,
    false
  )
  t.notOk('tool_choice' in resolved({ messages: 'hi' }))
})

t.test('an error of the provider names the field as the caller wrote it', async t => {
  const bad: Message = {
    role: 'user',
    content: [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'file:///x' } }
    ]
  }
  const route = { providerId: 'x', model: 'm', modelId: 'x/m' }
  const paramOf = (body: Partial<ChatRequest>): unknown => {
    const input = { request: resolved(body), route, quirks: {}, streamed: false }
    const error = Object(thrown(() => chatCompletions.request(input)))
    return callerParam(String(Reflect.get(error, 'param')), input)
  }
  const place = '[1].content[1].image_url.url'
  t.equal(paramOf({ messages: [brief, bad] }), `messages${place}`)
  t.equal(paramOf({ messages: [brief, bad], system: 'more' }), `messages${place}`)
  t.equal(paramOf({ messages: [brief, bad], instructions: 'instead' }), `messages${place}`)
  t.equal(paramOf({ input: [brief, bad], system_instruction: 'more' }), `input${place}`)
})

t.test('a voice is ignored if the answer has no audio', async t => {
  const audio = { format: 'wav', voice: 'alloy' } as const
  for (const request of [{ audio }, { audio, modalities: ['text'] }, { audio, system: 'a' }] as const) {
    t.notOk(
      'audio' in
        resolved({ messages: [{ role: 'user', content: 'hi' }], ...(request as Partial<ChatRequest>) })
    )
  }
  t.match(resolved({ messages: [{ role: 'user', content: 'hi' }], audio, modalities: ['text', 'audio'] }), {
    audio
  })
})

const check = chatSizes({ chatMessages: 3, chatParts: 4, chatTools: 2 })
const text = { type: 'text' as const, text: 'a' }

function refusal (request: Partial<ChatRequest>): unknown {
  try {
    check(callWith(request))
    return undefined
  } catch (error) {
    return error instanceof ValidationError ? error.detail : error
  }
}

t.test('a list over its limit is refused, and named in the error', async t => {
  const tool = { function: { name: 'get' } }
  const tooLong = (loc: ReadonlyArray<string | number>, max: number, length: number) => [{
    loc: ['body', ...loc],
    msg: `List should have at most ${max} items after validation, not ${length}`,
    type: 'too_long',
    ctx: { field_type: 'List', max_length: max, actual_length: length }
  }]
  t.same(refusal({ messages: [hi, hi, hi, hi] }), tooLong(['messages'], 3, 4))
  t.same(refusal({ input: [hi, hi, hi, hi] }), tooLong(['input'], 3, 4))
  t.same(
    refusal({
      messages: [
        { role: 'user', content: [text, text, text] },
        { role: 'user', content: [text, text] }
      ]
    }),
    tooLong(['messages', 1, 'content'], 4, 5)
  )
  t.same(refusal({ messages: [hi], tools: [tool, tool, tool] }), tooLong(['tools'], 2, 3))
  t.same(
    refusal({ messages: [hi], functions: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] }),
    tooLong(['functions'], 2, 3)
  )
})

t.test('lists at their limits pass unchanged', async t => {
  const fits = callWith({
    messages: [hi, { role: 'user', content: [text, text, text, text] }, hi],
    tools: [{ function: { name: 'a' } }]
  })
  t.equal(check(fits), fits)
  t.equal(refusal({ messages: 'a text is one message' }), undefined)
})
