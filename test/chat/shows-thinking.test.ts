import t from 'tap'
import { showsThinking } from '../../lib/chat/shows-thinking.ts'

t.test('thinking is shown if the caller asks for it, unless the request leaves out its text', async t => {
  t.equal(showsThinking({}), false)
  t.equal(showsThinking({ showsThinking: true }), true)
  t.equal(showsThinking({ thinking: { type: 'adaptive' } }), true)
  t.equal(showsThinking({ thinking: { type: 'enabled', budget_tokens: 1024 } }), true)
  t.equal(showsThinking({ thinking: { type: 'adaptive', display: 'summarized' } }), true)
  t.equal(showsThinking({ thinking: { type: 'adaptive', display: 'omitted' } }), false)
  t.equal(showsThinking({ thinking: { type: 'disabled' } }), false)
})
