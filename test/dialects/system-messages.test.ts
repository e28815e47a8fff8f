import t from 'tap'
import { fitSystemMessages } from '../../lib/dialects/system-messages.ts'
import type { Message } from '../../schemas/messages.ts'

const text = (text: string): { readonly type: 'text', readonly text: string } => ({ type: 'text', text })
const user: Message = { role: 'user', content: 'hi' }

t.test(
  'leading system messages are joined, and later ones become reminders in user messages',
  async t => {
    const messages: Message[] = [
      { role: 'developer', content: 'a' },
      { role: 'system', content: [text('b'), text('c')] },
      user,
      { role: 'developer', content: [text('d'), text('e')] }
    ]
    t.strictSame(fitSystemMessages(messages, {}), [
      { role: 'developer', content: 'a\n\nb\n\nc' },
      { role: 'user', content: 'hi\n\n<system-reminder>\nd\n\ne\n</system-reminder>' }
    ])
    t.strictSame(fitSystemMessages(messages, { systemParts: true })[0], {
      role: 'developer',
      content: [text('a'), text('b'), text('c')]
    })
    t.strictSame(
      fitSystemMessages(messages.slice(0, 2), {}),
      [{ role: 'developer', content: 'a\n\nb\n\nc' }],
      'also if no other message follows'
    )
  }
)

t.test('providers that allow system messages anywhere get them in place', async t => {
  const messages: Message[] = [
    { role: 'system', content: 'a' },
    { role: 'system', content: [text('b')] },
    user,
    { role: 'system', content: 'c' }
  ]
  t.strictSame(fitSystemMessages(messages, { systemAnywhere: true }), [
    messages[0],
    { role: 'system', content: 'b' },
    user,
    messages[3]
  ])
  t.equal(fitSystemMessages(messages, { systemAnywhere: true, systemParts: true }), messages)
})

t.test('a conversation that any provider accepts is the same list', async t => {
  for (const messages of [[user], [{ role: 'system', content: 'a' } as const, user], []]) {
    t.equal(fitSystemMessages(messages, {}), messages)
  }
})

t.test('a reminder joins the user message beside it, but messages of the caller stay separate', async t => {
  const reminder = '<system-reminder>\nlate\n</system-reminder>'
  const late: Message = { role: 'system', content: 'late' }
  const user = (content: string): Message => ({ role: 'user', content })
  t.same(fitSystemMessages([user('u'), late, user('v')], {}), [user(`u\n\n${reminder}\n\nv`)])
  t.same(fitSystemMessages([user('u'), user('v'), late], {}), [user('u'), user(`v\n\n${reminder}`)])
  t.same(fitSystemMessages([{ role: 'user', content: [{ type: 'text', text: 'u' }] }, late], {}), [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'u' },
        { type: 'text', text: reminder }
      ]
    }
  ])
  t.same(fitSystemMessages([user('u'), { role: 'assistant', content: 'a' }, late, late], {}), [
    user('u'),
    { role: 'assistant', content: 'a' },
    user(`${reminder}\n\n${reminder}`)
  ])
})
