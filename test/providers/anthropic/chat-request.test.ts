import t from 'tap'
import { anthropicChat, anthropicHeaders } from '../../../lib/providers/anthropic/index.ts'
import { ask, body } from '../../support/anthropic-answers.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'

t.test('the request uses the Messages API version whose models still accept sampling options', async t => {
  t.strictSame(
    { ...anthropicChat.request(ask()), body: '' },
    {
      method: 'POST',
      path: '/v1/messages',
      headers: {
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        accept: 'application/json'
      },
      body: ''
    }
  )
  t.equal(anthropicChat.request(ask({}, 'm', true)).headers['accept'], 'text/event-stream')
  t.strictSame(anthropicHeaders('secret'), { 'x-api-key': 'secret' })
  t.equal(anthropicChat.split?.(ask({ n: 4 })).length, 4)
})

t.test(
  'unsupported options are refused before sending, naming the parameter',
  async t => {
    const refused = (
      request: Partial<ChatInput>,
      param: string,
      code = 'invalid_value',
      model?: string
    ): void => {
      t.throws(() => body(request, model), { name: 'GatewayError', status: 400, code, param }, param)
    }
    const unsupported = 'unsupported_parameter'
    const user = (...content: object[]): Partial<ChatInput> => ({
      messages: [{ role: 'user', content: content as never }]
    }) // parts as they come from callers
    const calls = (...calls: object[]): ChatInput['messages'] => [
      { role: 'user', content: 'hi' },
      { role: 'assistant', tool_calls: calls as never }
    ] // as above
    const call = (id: string, text = '{}'): object => ({
      id,
      type: 'function',
      function: { name: 'now', arguments: text }
    })
    const tools: ChatInput['tools'] = [{ type: 'function', function: { name: 'now' } }]
    const thinking = { type: 'enabled' as const, budget_tokens: 2000 }

    refused({ response_format: { type: 'text' } }, 'response_format', unsupported)
    refused({ audio: { format: 'wav', voice: 'alloy' } }, 'audio', unsupported)
    refused({ modalities: ['text', 'audio'] }, 'modalities', unsupported)
    refused(
      user(
        { type: 'text', text: 'hear' },
        { type: 'input_audio', input_audio: { data: '', format: 'wav' } }
      ),
      'messages[0].content[1]',
      unsupported
    )
    refused(
      user({ type: 'file', file: { file_id: 'file-1' } }),
      'messages[0].content[0].file.file_id',
      unsupported
    )
    refused(user({ type: 'file', file: {} }), 'messages[0].content[0].file.file_data')
    refused(
      user({ type: 'file', file: { file_data: 'data:application/zip;base64,UEs=' } }),
      'messages[0].content[0].file.file_data'
    )
    refused(
      user({ type: 'image_url', image_url: { url: 'data:image/bmp;base64,Qk0=' } }),
      'messages[0].content[0].image_url.url'
    )
    refused(
      user({ type: 'image_url', image_url: { url: 'data:image/png,raw' } }),
      'messages[0].content[0].image_url.url'
    )
    refused(
      user({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }),
      'messages[0].content[0].image_url.url'
    )
    refused(
      {
        messages: [
          { role: 'system', content: ' ' },
          { role: 'user', content: '' }
        ]
      },
      'messages'
    )
    refused({ messages: [{ role: 'assistant', content: ' \n' }] }, 'messages')

    refused({ tools: [...tools, { type: 'custom', custom: { name: 'sql' } }] }, 'tools[1].type', unsupported)
    refused(
      { tools, tool_choice: { type: 'custom', custom: { name: 'sql' } } },
      'tool_choice.type',
      unsupported
    )
    refused({ tools: [{ function: { name: 'a.b' } }] }, 'tools[0].function.name')
    refused({ functions: [{ name: 'ok' }, { name: 'é' }] }, 'functions[1].name')
    refused(
      {
        tools,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'later' } }] }
        }
      },
      'tool_choice.allowed_tools.tools'
    )
    refused({ tools, tool_choice: 'required' }, 'tool_choice', unsupported, 'claude-opus-5-5-20260301')

    refused({ messages: calls(call('a', '[1]')) }, 'messages[1].tool_calls[0].function.arguments')
    refused(
      { messages: calls(call('a'), call('b', '{"x":')) },
      'messages[1].tool_calls[1].function.arguments'
    )
    refused(
      { messages: calls({ id: 'a', type: 'custom', custom: { name: 'sql', input: '' } }) },
      'messages[1].tool_calls[0].type',
      unsupported
    )
    refused(
      { messages: [{ role: 'assistant', function_call: { name: 'f', arguments: '1' } }] },
      'messages[0].function_call.arguments'
    )
    refused({ messages: [{ role: 'tool', tool_call_id: 'a', content: '' }] }, 'messages[0].tool_call_id')
    refused({ messages: [{ role: 'function', name: 'f', content: '' }] }, 'messages[0].name')
    refused({ messages: calls(call('a'), call('b')) }, 'messages[1].tool_calls[0].id')
    refused(
      {
        messages: [
          ...calls(call('a'), call('b')),
          { role: 'tool', tool_call_id: 'a', content: '' },
          { role: 'user', content: '?' }
        ]
      },
      'messages[1].tool_calls[1].id'
    )
    refused(
      {
        messages: [
          ...calls(call('a')),
          { role: 'tool', tool_call_id: 'a', content: '' },
          { role: 'assistant', content: 'x' },
          { role: 'tool', tool_call_id: 'a', content: '' }
        ]
      },
      'messages[4].tool_call_id'
    )

    refused({ thinking, max_completion_tokens: 2000 }, 'thinking.budget_tokens')
    refused({ thinking: { type: 'enabled', budget_tokens: 64_000 } }, 'thinking.budget_tokens')
    refused({ thinking, tools, tool_choice: 'required' }, 'tool_choice', unsupported)
    refused(
      { thinking, functions: [{ name: 'now' }], function_call: { name: 'now' } },
      'function_call',
      unsupported
    )
  }
)

t.test('user ids that identify a person are left out', async t => {
  for (const user of [
    'jane@piers.example',
    'Jane <jane@piers.example>',
    '+44 1475 650100',
    '(01475) 650-100',
    '014756501005',
    ' '
  ]) {
    t.equal(body({ user }).metadata, undefined, user)
  }
  for (const user of ['u-1', '4711', '5f0c6c5e-6d5a-4c57-9a52-0b3b0b8f4d21', 'sha256:ab12']) {
    t.strictSame(body({ user }).metadata, { user_id: user })
  }
})

t.test('a temperature over 1 is clamped', async t => {
  t.equal(body({ temperature: 1.2 }).temperature, 1)
})
