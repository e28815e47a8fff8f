import t from 'tap'
import { isDirect } from '../../lib/providers/is-direct.ts'
import { provider } from '../support/settings.ts'
import type { Provider } from '../../lib/providers/provider.ts'

// no more of it is read
const direct: Provider = {
  ...provider('one'),
  adapters: { chat: { directDialects: ['messages'] } as never }
}

t.test(
  "a provider gets the caller's own words where it speaks the same dialect, for that capability",
  async t => {
    t.ok(isDirect(direct, 'messages'))
    t.notOk(isDirect(direct, 'responses'))
    t.notOk(isDirect(direct, undefined))
    t.notOk(isDirect(direct, 'messages', 'tokenCount'))
    t.notOk(isDirect(provider('two'), 'messages'))
    t.notOk(isDirect(undefined, 'messages'))
  }
)
