import t from 'tap'
import { replaceFindings } from '../../lib/guards/text-filter.ts'
import { wordFilter } from '../support/word-stages.ts'

t.test('all findings in a text are replaced', t => {
  t.equal(replaceFindings(wordFilter('ab'), 'ab cab'), '(an island) c(an island)')
  t.equal(replaceFindings(wordFilter('ab'), 'none'), 'none')
  t.throws(() => replaceFindings(wordFilter('ab'), 'ab', true), { code: 'content_policy_violation' })
  t.end()
})
