/** A gateway that was started with a configuration file, as the admin API sees it. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LiveConfiguration } from '../../lib/config/live-configuration.ts'
import { readSettings, type ConfigSources } from '../../lib/config/read-settings.ts'
import { settings } from './settings.ts'
import { adminGateway, type AdminGateway } from './admin.ts'
import type { Test } from 'tap'

export interface ConfiguredGateway extends AdminGateway {
  readonly file: string
  readonly configuration: LiveConfiguration
  readonly sources: ConfigSources
}

/** @param editConfig true if owners may save the file */
export async function configuredGateway (
  t: Test,
  text: string,
  editConfig: boolean
): Promise<ConfiguredGateway> {
  const cwd = mkdtempSync(join(tmpdir(), 'headgate-configuration-'))
  t.teardown(() => rmSync(cwd, { recursive: true }))
  const file = join(cwd, 'headgate.yaml')
  writeFileSync(file, text)
  const sources = { env: { OPENAI_KEY: 'the-secret-itself', HOST: '127.0.0.1' }, cwd }
  const started = readSettings(sources)
  const configuration = new LiveConfiguration(sources, started)
  return {
    ...(await adminGateway(
      t,
      {
        dashboard: { ...started.settings.dashboard, editConfig },
        limits: { ...settings().limits, callMs: 120_000 } // drafts are checked slowly on a busy machine
      },
      { configuration }
    )),
    file,
    configuration,
    sources
  }
}
