/** Models and providers, with their prices and their health. */

import type { JSX } from 'preact'
import { Page } from '../parts/page.tsx'
import { currentTab, Tabs } from '../parts/tabs.tsx'
import { ModelList } from './model-list.tsx'
import { ProviderList } from './provider-list.tsx'

const tabs = [{ value: 'models', label: 'Models' }, { value: 'providers', label: 'Providers' }]

export function ModelsPage (): JSX.Element {
  return (
    <Page
      title='Models'
      wide
      subtitle='Everything that calls may name, with its price, and the providers behind it.'
    >
      <Tabs label='Models and providers' choices={tabs} />
      {currentTab(tabs) === 'models' ? <ModelList /> : <ProviderList />}
    </Page>
  )
}
