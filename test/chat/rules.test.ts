import t from 'tap'
import { checkChatRules } from '../../lib/chat/rules.ts'
import { routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const check = (parts: object) => () =>
  checkChatRules(routedCall<ChatInput>({ model: 'm', messages: [], ...parts }))

t.test('a request whose fields are consistent passes unchanged', async t => {
  const fitting: object[] = [
    {},
    { logprobs: true, top_logprobs: 2 },
    { modalities: ['text'] },
    { modalities: ['audio'], audio: { format: 'wav', voice: 'alloy' } },
    { mcp_servers: 'a/b' },
    { mcp_servers: ['a/b', { slug: 'a/b' }, { url: 'https://a', slug: null }] }
  ]
  for (const parts of fitting) {
    const call = routedCall<ChatInput>({ model: 'm', messages: [], ...parts })
    t.equal(checkChatRules(call), call, JSON.stringify(parts))
  }
})

t.test('fields that depend on others are refused without them', async t => {
  t.throws(check({ top_logprobs: 2 }), {
    code: 'invalid_value',
    param: 'top_logprobs',
    message: '`top_logprobs` requires `logprobs` to be true.'
  })
  t.throws(check({ top_logprobs: 2, logprobs: false }), {
    param: 'top_logprobs',
    message: '`top_logprobs` requires `logprobs` to be true.'
  })
  t.throws(check({ modalities: ['text', 'audio'] }), {
    code: 'invalid_value',
    param: 'audio',
    message: 'An audio answer requires `audio` with `format` and `voice`.'
  })
})

t.test('a tool server is specified in exactly one way', async t => {
  const fault = (...loc: Array<string | number>) => ({
    loc: ['body', 'mcp_servers', ...loc],
    msg: 'Value error, give exactly one of slug and url',
    type: 'value_error'
  })
  const detailOf = (servers: unknown): unknown => {
    try {
      return check({ mcp_servers: servers })()
    } catch (error) {
      return Reflect.get(Object(error), 'detail')
    }
  }
  t.strictSame(detailOf({ slug: 'a/b', url: 'https://a' }), [fault()])
  t.strictSame(detailOf([{ slug: 'a/b' }, {}, { slug: null, url: null }]), [fault(1), fault(2)])
  t.equal((detailOf(Array.from({ length: 50 }, () => ({}))) as unknown[]).length, 20)
})
