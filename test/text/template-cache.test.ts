import t from 'tap'
import { TemplateCache } from '../../lib/text/template-cache.ts'

t.test('the first is learned, and another where sixteen in a row did not fit', async t => {
  const learned = new TemplateCache<{ readonly name: string }>()
  const fits = (name: string): boolean => {
    const known = learned.use(known => known.name === name ? known : undefined)
    if (known === undefined) learned.learn(() => ({ name }))
    return known !== undefined
  }
  t.equal(fits('a'), false)
  t.equal(fits('a'), true)
  for (let count = 0; count < 16; count++) t.equal(fits('b'), false)
  t.equal(fits('a'), true, 'is kept so long')
  for (let count = 0; count < 17; count++) t.equal(fits('b'), false)
  t.equal(fits('b'), true)
  t.equal(fits('a'), false)
})
