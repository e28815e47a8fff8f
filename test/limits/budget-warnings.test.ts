import t from 'tap'
import { BudgetWarnings } from '../../lib/limits/budget-warnings.ts'
import { CallRecord } from '../../lib/core/record.ts'

t.test(
  "an exhausted soft budget is logged once per window, with the end user's name unless masked",
  async t => {
    const lines: unknown[] = []
    const clock = { ms: 0 }
    const warnings = new BudgetWarnings(
      {
        warn: (line: unknown) => {
          lines.push(line)
        }
      },
      () => clock.ms
    )
    const record = new CallRecord('chat')
    record.caller.endUser = 'ada'
    const note = (party: string, endMs: number): void =>
      warnings.note({ id: 'call-1', record }, [{ party, budget: '$1 a day', endMs }])
    for (let call = 0; call < 3; call++) note('end_user:p/x', 1000)
    note('tag:a', 1000)
    clock.ms = 1000
    note('end_user:p/x', 2000)
    record.guards.awaitsInspection = true
    note('end_user:p/y', Infinity)
    t.same(lines, [
      {
        id: 'call-1',
        party: 'end_user:p/x',
        end_user: 'ada',
        budget: '$1 a day',
        until: '1970-01-01T00:00:01.000Z'
      },
      { id: 'call-1', party: 'tag:a', budget: '$1 a day', until: '1970-01-01T00:00:01.000Z' },
      {
        id: 'call-1',
        party: 'end_user:p/x',
        end_user: 'ada',
        budget: '$1 a day',
        until: '1970-01-01T00:00:02.000Z'
      },
      { id: 'call-1', party: 'end_user:p/y', budget: '$1 a day' }
    ])
  }
)

t.test('budgets without an end take no memory for ever', async t => {
  let lines = 0
  const warnings = new BudgetWarnings({ warn: () => { lines++ } })
  const record = new CallRecord('chat')
  const note = (party: string): void =>
    warnings.note({ id: 'call-1', record }, [{ party, budget: '$1 in total', endMs: Infinity }])
  note('end_user:p/x')
  note('end_user:p/x')
  t.equal(lines, 1)
  for (let count = 0; count < 1000; count++) note(`end_user:p/${count}`)
  note('end_user:p/x')
  t.equal(lines, 1002, 'a forgotten one is logged again')
})
