import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import * as pipelines from '../../lib/public/pipelines.ts'
import * as stages from '../../lib/public/stages.ts'

const build = join(import.meta.dirname, '../..')

/** Returns the names of the functions exported by the files of a folder. */
async function functionsIn (folder: string, recursive: boolean): Promise<string[]> {
  const files = readdirSync(join(build, folder), { recursive, encoding: 'utf8' }).filter(name =>
    name.endsWith('.js')
  )
  const modules = await Promise.all(
    files.map(async name => (await import(join(build, folder, name))) as Record<string, unknown>)
  )
  return modules.flatMap(module => Object.keys(module).filter(name => typeof module[name] === 'function'))
}

t.test('every stage and reply is public', async t => {
  // Parts of stages and replies, and the check of admin keys: routes of the admin API are not built from
  // public stages.
  const internal = [
    'AnswerBatches',
    'RefusableAnswer',
    'adminAuth',
    'answerStart',
    'authorizedAgain',
    'currentPrincipal',
    'withRestoredTexts'
  ]
  const made = [...(await functionsIn('lib/stages', true)), ...(await functionsIn('lib/replies', false))]
  t.ok(made.length > 25, 'they are found')
  t.same(made.filter(name => !(name in stages)).toSorted(), internal)
})

t.test('every pipeline is public', async t => {
  // `deferredChat` runs calls for the gateway itself, with `resumedConversation`; `promptCount` makes the
  // counts of two dialects; the key and model endpoints of LiteLLM are aliases; the dashboard page is not
  // part of the API.
  const internal = [
    'aliasDocs',
    'configuredNames',
    'dashboardEndpoints',
    'deferredChat',
    'describeKey',
    'keyInfo',
    'keyStatusOf',
    'modelInfo',
    'modelsBehind',
    'openApi',
    'otherModels',
    'promptCount',
    'resumedConversation'
  ]
  t.same((await functionsIn('pipelines', false)).filter(name => !(name in pipelines)).toSorted(), internal)
})
