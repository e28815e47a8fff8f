/** The configuration in effect, its file, and the changes made by reloads. */

import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Breakable } from '../parts/breakable.tsx'
import { Card } from '../parts/card.tsx'
import { Code } from '../parts/code.tsx'
import { Empty } from '../parts/empty.tsx'
import { Moment } from '../parts/moment.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { Table } from '../parts/table.tsx'
import { currentTab, Tabs } from '../parts/tabs.tsx'
import { useResource } from '../state/resource.ts'
import { Editor } from './editor.tsx'
import { Entries } from './entries.tsx'
import { Problems } from './problems.tsx'

type Configuration = Answer<'GET /admin/v1/configuration'>

const tabs = [
  { value: 'entries', label: 'In effect' },
  { value: 'file', label: 'File' },
  { value: 'reloads', label: 'Reloads' }
]

export function ConfigurationPage (): JSX.Element {
  const { data, error, reload, set } = useResource('configuration', signal =>
    api('GET /admin/v1/configuration', { signal })
  )
  return (
    <Page
      title='Configuration'
      subtitle='What the gateway runs with. Secrets are shown as the variables that hold them.'
    >
      <div class='stack'>
        {error?.status === 404 ? <NotServed /> : <Failure error={error} retry={() => void reload()} />}
        <Problems problems={data?.warnings ?? []} tone='warn' />
        {error === undefined && <Tabs label='Configuration' choices={tabs} />}
        {error === undefined && <div>{content(data, set)}</div>}
      </div>
    </Page>
  )
}

/** A gateway that hides its configuration answers 404. */
function NotServed (): JSX.Element {
  return (
    <section class='card'>
      <Empty icon='settings' title='The configuration is not served here'>
        On the machine of the gateway, this reads it as a start would, and reports every problem in it:
      </Empty>
      <div class='body narrow'>
        <Code text='headgate check' label='command' />
      </div>
    </section>
  )
}

function content (data: Configuration | undefined, set: (configuration: Configuration) => void): JSX.Element {
  const tab = currentTab(tabs)
  if (tab === 'entries') return <Entries entries={data?.entries} />
  if (data === undefined) {
    return (
      <Card>
        <SkeletonLines lines={8} />
      </Card>
    )
  }
  if (tab === 'reloads') return <Reloads reloads={data.reloads} />
  if (data.text !== null) return <Editor key={data.revision} configuration={data} onSaved={set} />
  return (
    <section class='card'>
      <Empty icon='settings' title='There is no file'>
        The gateway runs with the environment and its defaults. Copy headgate.example.yaml to headgate.yaml
        to begin one.
      </Empty>
    </section>
  )
}

function Reloads ({ reloads }: Pick<Configuration, 'reloads'>): JSX.Element {
  return (
    <section class='card'>
      <Table
        label='Reloads'
        rows={reloads}
        id={({ at_ms }) => String(at_ms)}
        empty={
          <Empty icon='refresh' title='Not reloaded since the start'>
            A changed file is taken over without a restart.
          </Empty>
        }
        columns={[
          { title: 'Time', cell: ({ at_ms }) => <Moment at={at_ms} /> },
          {
            title: 'Changed',
            cell: ({ changed }) => (
              <code>
                <Breakable>{changed.join(', ')}</Breakable>
              </code>
            )
          },
          {
            title: 'Needs a restart',
            cell: ({ needs_restart }) =>
              needs_restart.length === 0 ? (
                <span class='faint'>nothing</span>
              ) : (
                <code>
                  <Breakable>{needs_restart.join(', ')}</Breakable>
                </code>
              )
          }
        ]}
      />
    </section>
  )
}
