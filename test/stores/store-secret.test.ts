import { storeSecret } from '../../lib/stores/store-secret.ts'
import { storeTest } from '../support/stores.ts'

storeTest('all processes have the same secret', async (t, open) => {
  const [{ query }, other] = [await open(), await open()]
  const [one, two] = await Promise.all([storeSecret(query), storeSecret(other.query)])
  t.equal(one.length, 32)
  t.same(one, two)
})
