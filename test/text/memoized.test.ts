import t from 'tap'
import { memoized } from '../../lib/text/memoized.ts'

t.test('a name is looked up once, even if nothing is known of it', async t => {
  const lookups: string[] = []
  const find = memoized((name: string): object | undefined => {
    lookups.push(name)
    return name === 'known' ? { name } : undefined
  })
  t.equal(find('known'), find('known'))
  t.same([find('unknown'), find('unknown')], [undefined, undefined])
  t.same(lookups, ['known', 'unknown'])
})

t.test('long names, and names beyond the number of models, are not remembered', async t => {
  let lookups = 0
  const find = memoized((): undefined => { lookups++ })
  const long = 'a'.repeat(300)
  for (const name of [long, long]) find(name)
  t.equal(lookups, 2)
  for (let number = 0; number <= 1000; number++) find(`model-${number}`)
  find('model-0')
  t.equal(lookups, 2 + 1001 + 1, 'the first of more than a thousand')
})
