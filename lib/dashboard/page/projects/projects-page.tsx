/** The projects that the user may see. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { count } from '../format/numbers.ts'
import { Spend } from '../limits/spend.tsx'
import { Badge } from '../parts/badge.tsx'
import { Clip } from '../parts/clip.tsx'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Lead } from '../parts/lead.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { usePages } from '../state/pages.ts'
import { loadSession, may } from '../state/session.ts'
import { ProjectDialog } from './project-dialog.tsx'

type Project = Answer<'GET /admin/v1/projects/:project_id'>

function addressOf ({ id }: Project): string {
  return `/projects/${encodeURIComponent(id)}`
}

const columns: ReadonlyArray<Column<Project>> = [
  {
    title: 'Name',
    cell: project => (
      <>
        <Lead place={addressOf(project)}>{project.name}</Lead>
        <Clip kind='sub mono'>{project.id}</Clip>
      </>
    ),
    flexible: true
  },
  {
    title: 'Spent',
    cell: project => (
      <>
        <Spend limits={project.limits} spent={project.spent_usd} />
        {project.exhausted && <Badge tone='bad'>exhausted</Badge>}
      </>
    )
  },
  {
    title: 'Models',
    cell: ({ models }) => (models === null ? 'All' : <Clip kind='mono'>{models.join(', ')}</Clip>),
    flexible: true
  },
  { title: 'Keys', number: true, cell: project => count(project.keys) },
  { title: 'Members', number: true, cell: project => count(project.members) },
  { title: 'Created', cell: project => <Moment at={project.created_at_ms} /> }
]

export function ProjectsPage (): JSX.Element {
  const creating = useSignal(false)
  const { rows, more, update, error, reload } = usePages('', (cursor, signal) =>
    api('GET /admin/v1/projects', { query: { cursor }, ...signal !== undefined && { signal } })
  )
  const create = may('admin') && (
    <Button
      kind='primary'
      icon='plus'
      onClick={() => {
        creating.value = true
      }}
    >
      Create project
    </Button>
  )
  const created = (project: Project): void => {
    update(rows => [project, ...rows])
    void loadSession()
  }
  return (
    <Page
      title='Projects'
      subtitle='A project has members and keys, and limits that hold for all of them together.'
      actions={create}
    >
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <section class='card'>
          <Table
            label='Projects'
            columns={columns}
            rows={rows}
            id={({ id }) => id}
            place={addressOf}
            empty={
              <Empty icon='project' title='No projects for you yet' actions={create}>
                An owner or an admin adds you to one.
              </Empty>
            }
          />
          <More onClick={more} />
        </section>
      )}
      {creating.value && (
        <ProjectDialog
          onClose={() => {
            creating.value = false
          }}
          onSaved={created}
        />
      )}
    </Page>
  )
}
