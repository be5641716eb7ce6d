/** The default theme without web fonts, with the look of the kit's other pages. */
import { Content } from "vitepress";
import theme, { VPHomeContent, VPHomeFeatures, VPHomeHero } from "vitepress/theme-without-fonts";
import { type App, h } from "vue";
import "./style.css";

/** The first page. The theme's own has no landmark around its content. */
const Home = () =>
  h("main", { class: "home" }, [h(VPHomeHero), h(VPHomeFeatures), h(VPHomeContent, null, () => h(Content))]);

/** The page for an unknown path. */
const Missing = () =>
  h("main", { class: "missing" }, [
    h("h1", "There is no such page"),
    h("p", ["Search for it, or begin with ", h("a", { href: "/start" }, "Start"), "."]),
  ]);

export default {
  extends: theme,
  Layout: () => h(theme.Layout, null, { "not-found": Missing }),
  enhanceApp: ({ app }: { readonly app: App }) => {
    app.component("home", Home);
  },
};
