import { mount } from "svelte";
import App from "./App.svelte";
import { explain } from "./lib/failing";
import "./style.css";

const target = document.getElementById("app");
if (!target) throw new Error("the page has no place for the viewer");
explain(target);
mount(App, { target });
