import t from 'tap'
import { speaksDialect } from '../../lib/providers/speaks-dialect.ts'
import { provider } from '../support/settings.ts'
import type { Provider } from '../../lib/providers/provider.ts'

// nothing else of it is read
const direct: Provider = {
  ...provider('one'),
  adapters: { chat: { directDialects: ['messages'] } as never }
}

t.test(
  "a provider gets the caller's own body if it speaks the same dialect for that capability",
  async t => {
    t.ok(speaksDialect(direct, 'messages'))
    t.notOk(speaksDialect(direct, 'responses'))
    t.notOk(speaksDialect(direct, undefined))
    t.notOk(speaksDialect(direct, 'messages', 'tokenCount'))
    t.notOk(speaksDialect(provider('two'), 'messages'))
    t.notOk(speaksDialect(undefined, 'messages'))
  }
)
