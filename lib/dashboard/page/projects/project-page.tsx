/** One project: its limits, its keys and its members. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { count, plural } from '../format/numbers.ts'
import { countFacts } from '../limits/count-facts.ts'
import { Spend } from '../limits/spend.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Facts, type Fact } from '../parts/facts.tsx'
import { Menu } from '../parts/menu.tsx'
import { Moment } from '../parts/moment.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { useResource } from '../state/resource.ts'
import { at, navigate } from '../state/router.ts'
import { loadSession, may } from '../state/session.ts'
import { MembersCard } from './members-card.tsx'
import { ProjectDialog } from './project-dialog.tsx'

type Project = Answer<'GET /admin/v1/projects/:project_id'>

export function ProjectPage ({ id }: { readonly id: string }): JSX.Element {
  const {
    data: project,
    error,
    reload,
    set
  } = useResource(id, signal =>
    api('GET /admin/v1/projects/:project_id', { at: { project_id: id }, signal })
  )
  const open = useSignal<'edit' | 'archive' | undefined>(undefined)
  const close = (): void => {
    open.value = undefined
  }
  const archive = async (): Promise<void> => {
    await api('DELETE /admin/v1/projects/:project_id', { at: { project_id: id } })
    await loadSession()
    navigate('/projects')
  }
  const actions = (
    <>
      <Button icon='overview' href={at(`/?project=${encodeURIComponent(id)}`)}>
        Usage
      </Button>
      {may('member') && (
        <Button icon='calls' href={at(`/calls?project=${encodeURIComponent(id)}`)}>
          Calls
        </Button>
      )}
      {may('member') && (
        <Button icon='key' href={at(`/keys?project=${encodeURIComponent(id)}`)}>
          Keys
        </Button>
      )}
      {may('admin') && project !== undefined && (
        <Menu
          label={`Actions for ${project.name}`}
          items={[
            {
              label: 'Edit',
              icon: 'edit',
              onSelect: () => {
                open.value = 'edit'
              }
            },
            {
              label: 'Archive',
              icon: 'trash',
              danger: true,
              onSelect: () => {
                open.value = 'archive'
              }
            }
          ]}
        />
      )}
    </>
  )
  return (
    <Page
      title={project?.name ?? 'Project'}
      back={{ place: '/projects', label: 'Projects' }}
      actions={actions}
    >
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <div class='stack'>
          <Card title='Project'>
            {project === undefined ? <SkeletonLines lines={6} /> : <Facts facts={factsOf(project)} />}
          </Card>
          {may('member') && <MembersCard project={id} />}
        </div>
      )}
      {open.value === 'edit' && project !== undefined && (
        <ProjectDialog
          project={project}
          onClose={close}
          onSaved={saved => {
            set(saved)
            void loadSession()
          }}
        />
      )}
      {open.value === 'archive' && project !== undefined && (
        <Confirm
          title={`Archive “${project.name}”?`}
          action='Archive project'
          onClose={close}
          onConfirm={archive}
        >
          Its {plural(project.keys, 'key')} are revoked at once. What was used stays in the overview.
        </Confirm>
      )}
    </Page>
  )
}

function factsOf ({ id, limits, spent_usd, models, stages, keys, created_at_ms }: Project): readonly Fact[] {
  return [
    ['Id', <code>{id}</code>],
    [
      'Spent',
      <div class='meter-place'>
        <Spend limits={limits} spent={spent_usd} />
      </div>
    ],
    ...countFacts(limits),
    ['Models', models === null ? 'All' : models.join(', ')],
    ['Guards', stages === null ? null : stages.join(', ')],
    ['Active keys', count(keys)],
    ['Created', created_at_ms === null ? null : <Moment at={created_at_ms} />]
  ]
}
